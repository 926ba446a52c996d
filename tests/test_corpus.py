"""Inputs that once caused a traceback now give an error message. `make fuzz` adds to them."""

from __future__ import annotations

import json
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(path.parent for path in CORPUS.glob("*/arguments.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_input_that_once_caused_a_traceback_gives_an_error_message(case: Path, tmp_path: Path) -> None:
    spec = spec_from_file_location("fuzz", Path(__file__).parent.parent / "scripts" / "fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    fuzz = module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    shutil.copytree(case, tmp_path / "case")
    document = json.loads((case / "arguments.json").read_text())
    verb, *options = document["arguments"]
    assert fuzz.answered([verb, str(tmp_path / "case" / document["input"]), *options], tmp_path) == ""
