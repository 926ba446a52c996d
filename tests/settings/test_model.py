"""Settings as data: values, defaults, sources and errors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from perdure.curves.model import Preparation
from perdure.errors import PerdureError, UnknownNameError
from perdure.settings import OPTIONS, UNDECIDING, Settings, read_settings, settings_from


def test_settings_without_arguments_have_no_given_values() -> None:
    assert Settings().given == {}
    assert set(Settings().sources().values()) == {"preset", "log"}


def test_a_setting_of_the_caller_is_marked_as_given() -> None:
    settings = Settings(scale="none", level=0.9, measure={"Pong": "reward"})  # type: ignore[arg-type]
    assert settings.given == {"scale": "none", "level": 0.9, "measure": {"pong": "reward"}}
    assert {name for name, source in settings.sources().items() if source == "caller"} == set(settings.given)


def test_given_settings_override_the_preset_which_fills_the_rest() -> None:
    assert Settings(window="hanning").prepared(Preparation(clamp=True)) == Preparation(clamp=True, window="hanning")
    assert Settings(window="hanning", prep=Preparation(noise=1.0)).prepared(Preparation(clamp=True)) == Preparation(
        noise=1.0, window="hanning"
    )


def test_every_setting_is_in_the_json_and_has_a_source() -> None:
    written = Settings().as_json(Preparation())
    assert set(OPTIONS) <= set(written)
    assert set(Settings().sources()) == set(OPTIONS)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_settings_are_equal_if_all_of_them_are() -> None:
    assert Settings(bounds={"A": (0, 1)}) == Settings(bounds={"a": (0, 1)})
    assert Settings(level=0.9) != Settings()
    assert Settings(level=0.9).replace(level=0.95) == Settings()


def test_numpy_numbers_are_accepted() -> None:
    level: Any = np.float32(0.75)
    width: Any = np.int64(5)
    assert Settings(level=level, width=width) == Settings(level=0.75, width=5)
    assert type(Settings(width=width).width) is int


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pool": "no"}, "pool is 'no'; give true or false"),
        ({"level": "high"}, "level is 'high'; give a number from 0.5 to 0.999"),
        ({"bounds": {"pong": (0, 1, 2)}}, "bounds is .*; give two increasing finite numbers for each task"),
        ({"metrics": 3}, "metrics is 3; give a list of texts"),
        ({"width": 2.5}, "width is 2.5; give a whole number, 1 or more"),
        ({"noise": float("inf")}, "noise is inf; give a number, 0 or more"),
        ({"scale": "taks"}, "unknown scale 'taks'; did you mean 'task'"),
    ],
)
def test_a_call_is_checked_against_the_declaration_like_a_file(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PerdureError, match=message):
        Settings(**given)


def test_the_read_options_follow_from_the_settings() -> None:
    reading = Settings(
        columns={"exp_num": "episode"}, unverified=True, shape="wide", unit="raw", as_given=True
    ).reading()
    assert (dict(reading.columns), reading.verified, reading.shape) == ({"exp_num": "episode"}, False, "wide")
    assert (reading.unit, reading.as_given) == ("raw", True)


def test_settings_can_be_given_by_name_on_top_of_others() -> None:
    assert settings_from() == Settings()
    assert settings_from(Settings(level=0.9, window="none"), window="flat") == Settings(level=0.9, window="flat")
    assert settings_from(Settings(measure={"Pong": "score"}), measure="reward") == Settings(measure="reward")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"windw": 20}, "unknown setting 'windw'; did you mean 'window'"),
        ({"window": "flt"}, "unknown window 'flt'; did you mean 'flat'"),
        ({"level": 2}, "level is 2; give a number from 0.5 to 0.999"),
    ],
)
def test_a_wrong_name_or_value_is_refused_with_the_right_one(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PerdureError, match=message):
        settings_from(**given)


def test_an_unknown_word_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="mean"):
        Settings(aggregate="maen")  # type: ignore[arg-type]


def test_display_and_test_settings_may_differ_in_a_pool() -> None:
    assert {"level", "pool", "group", "margins", "metrics"} <= UNDECIDING
    assert not {"scale", "window", "lower_is_better", "variants"} & UNDECIDING


def test_flags_are_unique() -> None:
    flags = [flag for option in OPTIONS.values() for flag in (option.flag, *option.further_flags)]
    assert len(set(flags)) == len(flags)


@pytest.mark.parametrize(
    ("content", "message_part"),
    [
        ({"scael": "none"}, "unknown key 'scael'; did you mean 'scale'"),
        ({"scale": 5}, "'scale' is 5; expected one of task, run, none"),
        (
            {"metrics": ["bwt", "mine.py"]},
            "names the Python file 'mine.py', and a file of settings runs no code",
        ),
        ({"bounds": "bounds.json"}, "expected two increasing finite numbers"),
    ],
)
def test_a_wrong_value_in_a_file_is_named_by_its_key(content: dict[str, object], message_part: str) -> None:
    with pytest.raises(PerdureError, match=message_part):
        read_settings(content, "perdure.toml")


def test_the_repr_of_settings_has_only_the_given_values() -> None:
    assert repr(Settings()) == "Settings()"
    assert repr(Settings(level=0.9, metrics="bwt")) == "Settings(metrics=('bwt',), level=0.9)"
    by_task = Settings(measure={"Pong": "score"}, prep=Preparation())  # type: ignore[arg-type]
    assert repr(by_task) == "Settings(measure={'pong': 'score'}, prep=…)"
    assert len(repr(Settings(learned={f"task-{n}": float(n) for n in range(500)}))) < 120
