__all__: list[str]

from perdure.learners.interface import Answer as Answer
from perdure.learners.interface import Fingerprinted as Fingerprinted
from perdure.learners.interface import Learner as Learner
from perdure.learners.interface import LearnerError as LearnerError
from perdure.learners.interface import Maker as Maker
from perdure.learners.interface import Saved as Saved
from perdure.learners.interface import SelfLed as SelfLed
from perdure.learners.interface import Situation as Situation
from perdure.learners.interface import Transition as Transition
from perdure.learners.sb3 import PPOLearner as PPOLearner
from perdure.learners.sb3 import SB3Learner as SB3Learner
