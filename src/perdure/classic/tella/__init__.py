"""tella 2.1 on Gymnasium 1.x: `from perdure.classic import tella` in place of `import tella`.

For a script that must not be changed: `python -m perdure.classic.tella my_agent.py --curriculum SimpleCartPole`.
"""

from perdure.classic.tella.curriculum import Action, Observation, Transition, ValidationError
from perdure.classic.tella.experiment import ContinualRLAgent, rl_cli, rl_experiment
from perdure.classic.tella.import_shim import stand_in

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
