"""Reference methods of continual learning in PyTorch, one readable file each (extra `torch`); `METHODS` names them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["METHODS"]

METHODS: Mapping[str, str] = {
    "naive": "perdure.learners.torch.naive:TorchNaive",
    "joint": "perdure.learners.torch.joint:TorchJoint",
    "expert": "perdure.learners.torch.expert:TorchExpert",
    "ewc": "perdure.learners.torch.ewc:TorchEWC",
    "si": "perdure.learners.torch.si:SI",
    "replay": "perdure.learners.torch.replay:TorchReplay",
    "der++": "perdure.learners.torch.der:DERPlusPlus",
    "a-gem": "perdure.learners.torch.a_gem:AGEM",
    "lwf": "perdure.learners.torch.lwf:LwF",
    "packnet": "perdure.learners.torch.packnet:PackNet",
}
"""Each is used as `torch:NAME`; importing one needs PyTorch, and importing this does not."""
