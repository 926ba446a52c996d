"""tella 2.1 on Gymnasium 1.x: `from perdure.classic import tella` in place of `import tella`.

A script that is not to be changed: `python -m perdure.classic.tella my_agent.py --curriculum SimpleCartPole`.
"""

from perdure.classic.tella import curricula as _curricula  # noqa: F401 - registers them
from perdure.classic.tella.agents import ContinualRLAgent
from perdure.classic.tella.cli import rl_cli
from perdure.classic.tella.curriculum import Action, Observation, Transition, ValidationError
from perdure.classic.tella.experiment import rl_experiment
from perdure.classic.tella.standing import stand_in

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
