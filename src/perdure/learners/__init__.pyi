__all__: list[str]

from .interface import Answer as Answer
from .interface import Fingerprinted as Fingerprinted
from .interface import Learner as Learner
from .interface import LearnerError as LearnerError
from .interface import Maker as Maker
from .interface import Saved as Saved
from .interface import SelfLed as SelfLed
from .interface import Situation as Situation
from .interface import Transition as Transition
from .sb3 import PPOLearner as PPOLearner
from .sb3 import SB3Learner as SB3Learner
