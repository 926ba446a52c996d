__all__: list[str]

from perdure.tasks.datasets import Dataset as Dataset
from perdure.tasks.episodes import Episodes as Episodes
from perdure.tasks.interface import TASKS as TASKS
from perdure.tasks.interface import BatchTask as BatchTask
from perdure.tasks.interface import EpisodeTask as EpisodeTask
from perdure.tasks.interface import Parameter as Parameter
from perdure.tasks.interface import TaskError as TaskError
from perdure.tasks.interface import TaskKind as TaskKind
from perdure.tasks.pictures import image_stream as image_stream
from perdure.tasks.resolve import kind_of as kind_of
from perdure.tasks.sequences import permuted_tasks as permuted_tasks
from perdure.tasks.sequences import rotated_tasks as rotated_tasks
from perdure.tasks.sequences import split_tasks as split_tasks
from perdure.tasks.sequences import table_b16_tasks as table_b16_tasks
from perdure.tasks.table import parameter_table as parameter_table
from perdure.tasks.table import task_table as task_table
