"""Functions of the public interface: settings by name, and docstrings that describe every parameter."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

import perdure
from perdure.settings import Settings
from perdure.settings.model import SettingsByName

PUBLIC = {name: getattr(perdure, name) for name in perdure.__all__}
FUNCTIONS = [name for name, item in PUBLIC.items() if inspect.isfunction(item)]
CLASSES = [name for name, item in PUBLIC.items() if inspect.isclass(item)]
WITHOUT_ERRORS = {"find", "LogEpisodes"}


def _entries(text: str, heading: str) -> list[str]:
    """Return the names in one section of a docstring."""
    section = re.split(r"\n\n\w+\n-+\n", text.partition(f"\n{heading}\n{'-' * len(heading)}\n")[2])[0]
    return re.findall(r"^(?:\*\*)?(\w+)$", section, re.MULTILINE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_of_a_function_has_one_entry_per_parameter(name: str) -> None:
    text, signature = inspect.getdoc(PUBLIC[name]) or "", inspect.signature(PUBLIC[name])
    assert _entries(text, "Parameters") == list(signature.parameters)
    headings = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    returned = {"None": [], "Iterator": ["Yields"]}.get(str(signature.return_annotation).partition("[")[0], ["Returns"])
    raised = [] if name in WITHOUT_ERRORS else ["Raises"]
    assert headings == ["Parameters", *returned, *raised, "Examples"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_docstring_of_a_class_has_one_entry_per_field(name: str) -> None:
    cls = PUBLIC[name]
    text = inspect.cleandoc(vars(cls)["__doc__"])
    if issubclass(cls, msgspec.Struct):
        inherited = {field for base in cls.__bases__ for field in getattr(base, "__struct_fields__", ())}
        assert _entries(text, "Attributes") == [name for name in cls.__struct_fields__ if name not in inherited]
    elif "__init__" in vars(cls) and cls is not perdure.LiveRun:  # run_lifetime makes a LiveRun
        assert _entries(text, "Parameters") == list(inspect.signature(cls).parameters)


def test_every_setting_can_be_given_by_name() -> None:
    assert set(SettingsByName.__annotations__) == set(Settings.__struct_fields__) - {"measures", "origins"}


def test_a_setting_by_name_is_the_same_as_in_settings_and_a_misspelt_one_offers_the_nearest() -> None:
    by_name = perdure.plan(level=0.9)
    assert by_name == perdure.plan(settings=perdure.Settings(level=0.9)) != perdure.plan()
    with pytest.raises(perdure.PerdureError, match="unknown parameter 'windw'; did you mean 'window'"):
        perdure.score("logs", windw=5)  # type: ignore[call-arg]
    with pytest.raises(perdure.PerdureError, match="unknown parameter 'basline'; did you mean 'baseline'"):
        perdure.compare(["logs"], basline="ewc")  # type: ignore[call-arg]


PROTOCOL = """
name = "small"
lifetimes = 2
experts = 1

[learner]
use = "q-learning"

[[scenarios]]
layout = "condensed"
tasks = ["pong", "breakout"]
learn = 2
evaluate = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a protocol and logs of two learners: naive forgets its first task, replay does not."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "protocol.toml").write_text(PROTOCOL)
    evaluation = [("test", "a"), ("test", "b")]
    blocks = [*evaluation, ("train", "a"), *evaluation, ("train", "b"), *evaluation]
    rng = np.random.default_rng(0)
    for learner, loss in (("naive", 0.4), ("replay", 0.0)):
        for seed in range(4):
            name = f"{learner}-{seed}"
            with perdure.Journal(folder / "logs", name, measures=["accuracy"], learner=learner, seed=seed) as journal:
                for block, (mode, task) in enumerate(blocks):
                    level = 0.8 if block > {"a": 2, "b": 5}[task] else 0.2
                    level -= loss if task == "a" and block > 5 else 0.0
                    for number, value in enumerate(rng.normal(level, 0.05, 12)):
                        journal.log(
                            block_num=block,
                            exp_num=12 * block + number,
                            block_type=mode,
                            task_name=task,
                            accuracy=float(value),
                        )
    return folder


EXAMPLES = [*FUNCTIONS, *(name for name in CLASSES if ">>>" in str(vars(PUBLIC[name])["__doc__"]))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(perdure, name), name, globs={"perdure": perdure})
    assert example.examples
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert not output, "".join(output)
