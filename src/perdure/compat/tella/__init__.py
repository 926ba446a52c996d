"""tella 2.1 on Gymnasium 1.x: `from perdure.compat import tella` in place of `import tella`.

A script that is not to be changed: `python -m perdure.compat.tella my_agent.py --curriculum SimpleCartPole`.
"""

from perdure.compat.tella import curricula as _curricula  # noqa: F401 - registers them
from perdure.compat.tella.agents import ContinualRLAgent
from perdure.compat.tella.cli import rl_cli
from perdure.compat.tella.curriculum import Action, Observation, Transition, ValidationError
from perdure.compat.tella.experiment import rl_experiment
from perdure.compat.tella.standing import stand_in

__all__ = [
    "Action",
    "ContinualRLAgent",
    "Observation",
    "Transition",
    "ValidationError",
    "rl_cli",
    "rl_experiment",
    "stand_in",
]
