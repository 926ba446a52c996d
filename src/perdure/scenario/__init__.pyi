__all__: list[str]

from .model import Block as Block
from .model import Scenario as Scenario
from .model import Task as Task
from .parameters import episodes as episodes
