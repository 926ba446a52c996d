__all__: list[str]

from perdure.tasks.datasets import Dataset as Dataset
from perdure.tasks.episodes import Episodes as Episodes
from perdure.tasks.interface import TASKS as TASKS
from perdure.tasks.interface import BatchTask as BatchTask
from perdure.tasks.interface import EpisodeTask as EpisodeTask
from perdure.tasks.interface import Parameter as Parameter
from perdure.tasks.interface import TaskError as TaskError
from perdure.tasks.interface import TaskKind as TaskKind
from perdure.tasks.resolve import kind_of as kind_of
from perdure.tasks.table import parameter_table as parameter_table
from perdure.tasks.table import task_table as task_table
