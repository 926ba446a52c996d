__all__: list[str]

from .catalogue import kind_of as kind_of
from .datasets import Dataset as Dataset
from .episodes import Episodes as Episodes
from .interface import TASKS as TASKS
from .interface import BatchTask as BatchTask
from .interface import EpisodeTask as EpisodeTask
from .interface import Parameter as Parameter
from .interface import TaskError as TaskError
from .interface import TaskKind as TaskKind
from .pictures import image_stream as image_stream
from .streams import permuted_tasks as permuted_tasks
from .streams import rotated_tasks as rotated_tasks
from .streams import split_tasks as split_tasks
from .streams import table_b16_tasks as table_b16_tasks
