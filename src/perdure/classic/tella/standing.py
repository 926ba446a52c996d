"""Letting `import tella` and `import gym` mean this package and Gymnasium, for scripts that are not to be changed."""

from __future__ import annotations

import logging
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from perdure.classic.tella.gym_api import modules
from perdure.errors import PerdureError

_HERE = "perdure.classic.tella"
_PARTS = ("agents", "cli", "curriculum", "experiment")


def stand_in() -> None:
    """From now on `import tella`, `gym`, `gym_minigrid` and `l2logger` get these; nothing does so by itself.

    It is not undone. Where tella is installed (`pip install --no-deps tella` is enough), its curricula come from there.
    """
    installed = None if "tella" in sys.modules else find_spec("tella")
    here = sys.modules[_HERE]
    sys.modules["tella"] = here
    sys.modules |= {f"tella.{name}": import_module(f"{_HERE}.{name}") for name in _PARTS}
    for name, module in modules().items():
        sys.modules.setdefault(name, module)
    if find_spec("l2logger") is None:
        sys.modules["l2logger"] = import_module("perdure.classic")
        sys.modules["l2logger.l2logger"] = import_module("perdure.classic.l2logger")
    if installed is not None and installed.submodule_search_locations:
        here.__path__.extend(installed.submodule_search_locations)
        import_module("tella._curriculums").load_curriculum_registry()


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m perdure.classic.tella SCRIPT …`: run a script that says `import tella`, as it is."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print("python -m perdure.classic.tella SCRIPT.py [its options, such as --curriculum SimpleCartPole]")  # noqa: T201
        return 0 if given else 2
    logging.captureWarnings(True)
    stand_in()
    sys.argv = given
    try:
        runpy.run_path(given[0], run_name="__main__")
    except PerdureError as problem:
        print(f"tella: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    return 0
