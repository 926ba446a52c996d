__all__: list[str]

from .distributions import episodes as episodes
from .model import Block as Block
from .model import Scenario as Scenario
from .model import Task as Task
