"""`perdure list`: what there is, for people and machines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from tests.cli.verbs import run_verb

from perdure.cli import list as listing
from perdure.errors import UnknownNameError
from perdure.learners.find import CORES, METHODS, REFERENCE
from perdure.metrics import METRICS
from perdure.metrics.presets import PRESETS
from perdure.tasks.interface import TASKS


def invoke(*arguments: str) -> str:
    result = run_verb("list", *arguments, columns=80)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_metric_is_listed_with_what_it_means_and_needs() -> None:
    shown = " ".join(invoke("metrics").split())
    for one in METRICS:
        assert one.name in shown
        assert one.summary in shown
        assert f"needs {one.needs}" in shown


def test_the_listing_fits_80_columns() -> None:
    assert max(len(line.rstrip()) for line in invoke("metrics").splitlines()) <= 80


def test_an_inclusive_threshold_is_shown_as_one() -> None:
    assert "cumulative_gain ≥ 0" in invoke("metrics")


def test_without_an_argument_the_metrics_are_listed() -> None:
    assert invoke() == invoke("metrics")


def test_json_holds_id_condition_threshold_source_and_needs() -> None:
    found = {one["name"]: one for one in json.loads(invoke("metrics", "--json", "-"))}
    assert found["forward_transfer"]["threshold"] == 1
    assert found["forward_transfer"]["condition"] == "Transfer and Adaptation"
    assert found["forward_transfer"]["source"].startswith("Baker")
    assert found["relative_performance"]["needs"].endswith("; an expert of that task")
    assert len(found) == len(METRICS.names())


def test_a_presets_own_declarations_can_be_listed() -> None:
    found = {one["name"]: one for one in json.loads(invoke("metrics", "--preset", "new-2022", "--json", "-"))}
    assert found["forward_transfer"]["unit"] == "contrast"
    with pytest.raises(UnknownNameError, match="did you mean 'new-2022'"):
        invoke("metrics", "--preset", "new-2020")


def test_presets_and_readers_are_listed() -> None:
    presets = json.loads(invoke("presets", "--json", "-"))
    assert [one["name"] for one in presets] == list(PRESETS.names())
    assert all(one["metrics"] for one in presets)
    assert "l2logger" in invoke("readers")


def test_every_task_is_listed_with_what_it_takes() -> None:
    found = {one["name"]: one for one in json.loads(invoke("tasks", "--json", "-"))}
    assert set(found) == set(TASKS.names())
    paddle = next(one for one in found["pong"]["parameters"] if one["name"] == "bot/paddle/width")
    assert paddle["meaning"]
    assert found["digits"]["measures"] == {"accuracy": "higher", "error": "lower"}
    shown = invoke("tasks")
    assert found["pong"]["summary"] in " ".join(shown.split())
    assert "takes bot/paddle/width, " in " ".join(shown.split())
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80


def test_every_learner_is_listed_with_one_line() -> None:
    found = json.loads(invoke("learners", "--json", "-"))
    assert [one["name"] for one in found[: len(REFERENCE)]] == list(REFERENCE)
    assert all(one["summary"] for one in found)
    assert "q-learning" in invoke("learners")


def test_batched_learners_are_listed_with_their_methods() -> None:
    found = {one["name"]: one for one in json.loads(invoke("learners", "--json", "-"))}
    assert {f"batched:{name}" for name in CORES} <= set(found)
    assert list(found["batched:q"]["methods"]) == list(METHODS)
    assert all(found["batched:q"]["methods"].values())
    assert "methods" not in found["naive"]
    assert "method = naive, separate, ewc" in " ".join(invoke("learners").split())


def test_the_example_of_the_help_runs(run_cli: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run_cli(*listing.EXAMPLE.removeprefix("perdure ").split())
    assert done.returncode == 0, done.stderr
    assert "performance_maintenance" in done.stdout
