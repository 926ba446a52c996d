__all__: list[str]

from perdure.scenario.distributions import episodes as episodes
from perdure.scenario.model import Block as Block
from perdure.scenario.model import Scenario as Scenario
from perdure.scenario.model import Task as Task
