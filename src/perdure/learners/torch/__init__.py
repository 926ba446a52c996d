"""Reference methods of continual learning in PyTorch (extra `torch`)."""

from __future__ import annotations

from collections.abc import Mapping

METHODS: Mapping[str, str] = {
    "naive": "TorchNaive",
    "joint": "TorchJoint",
    "expert": "TorchExpert",
    "ewc": "TorchEWC",
    "si": "SI",
    "replay": "TorchReplay",
    "der++": "DERPlusPlus",
    "a-gem": "AGEM",
    "lwf": "LwF",
    "packnet": "PackNet",
}
"""The class in `methods` of each learner `torch:NAME`. Importing this package does not import PyTorch."""
