"""Settings from files beside the data, and what a preset takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.written import LIFE, written

from perdure.errors import MetricError, PerdureError
from perdure.metrics.presets import PRESETS, prepared
from perdure.metrics.settings import settings_for
from perdure.settings import OPTIONS, Settings


def run_folder(place: Path, **score: Any) -> Path:
    written(place / "lives", "life-000", LIFE)
    (place / "protocol.json").write_text(json.dumps({"name": "p", "score": score}))
    return place


def test_the_command_line_wins_over_the_file_and_the_file_over_the_protocol(tmp_path: Path) -> None:
    place = run_folder(tmp_path / "run", scale="none", level=0.8, window="hanning")
    (place / "perdure.toml").write_text('scale = "run"\nlevel = 0.9\n')
    settings = settings_for([place], {"scale": "task"}, source="command line")
    assert (settings.scale, settings.level, settings.window) == ("task", 0.9, "hanning")
    sources = settings.sources()
    assert [sources[name] for name in ("scale", "level", "window", "measure", "clamp")] == [
        "command line", "perdure.toml", "protocol", "log", "preset",
    ]  # fmt: skip


def test_a_life_of_a_run_folder_follows_its_protocol(tmp_path: Path) -> None:
    place = run_folder(tmp_path / "run", scale="none")
    assert settings_for([place / "lives" / "life-000"]).scale == "none"
    assert settings_for([tmp_path]).scale == "none"


def test_the_nearest_file_counts_and_none_from_above_the_argument(tmp_path: Path) -> None:
    life = written(tmp_path / "outer" / "inner", "life", LIFE)
    (tmp_path / "perdure.toml").write_text("level = 0.6\n")
    (tmp_path / "outer" / "perdure.toml").write_text("level = 0.7\n")
    assert settings_for([life]).level == 0.95
    assert settings_for([tmp_path / "outer" / "inner"]).level == 0.95
    assert settings_for([tmp_path / "outer"]).level == 0.7
    (tmp_path / "outer" / "inner" / "perdure.toml").write_text("level = 0.8\n")
    assert settings_for([tmp_path / "outer"]).level == 0.8


def test_a_file_lies_beside_a_table(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("lifetime,bwt\na,1\n")
    (tmp_path / "perdure.toml").write_text("level = 0.9\n")
    assert settings_for([tmp_path / "scores.csv"]).level == 0.9


def test_lifetimes_that_would_be_scored_differently_are_refused_unless_it_is_said_how(tmp_path: Path) -> None:
    one, two = (written(tmp_path / name, "life", LIFE).parent for name in ("one", "two"))
    (one / "perdure.toml").write_text('scale = "none"\n')
    for logs in ([one, two], [tmp_path]):
        with pytest.raises(PerdureError, match=r"scale.*'none' from .*one.*no file sets it for.*give --scale"):
            settings_for(logs)
        assert settings_for(logs, {"scale": "task"}).scale == "task"
    (two / "perdure.toml").write_text('scale = "none"\n')
    assert settings_for([one, two]).scale == "none"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("level = 0.9\nscael = 'none'\n", r"perdure.toml:2: unknown key 'scael'; did you mean 'scale'"),
        ("\n\n[margins]\nbwt = 'much'\n", r"perdure.toml:3: 'margins' is .*; expected ID=X"),
        ("metrics = ['mine.py']\n", r"perdure.toml:1: 'metrics' names the Python file 'mine.py'.*--metrics"),
        ("level =\n", r"perdure.toml:1: not TOML: Invalid value; repair it"),
    ],
)
def test_what_is_wrong_in_the_file_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    life = written(tmp_path, "life", LIFE)
    (life / "perdure.toml").write_text(text)
    with pytest.raises(PerdureError, match=said):
        settings_for([life])


def test_a_python_file_in_a_kept_protocol_is_refused(tmp_path: Path) -> None:
    place = run_folder(tmp_path / "run", metrics=["mine.py"])
    with pytest.raises(PerdureError, match=r"\[score\].*Python file 'mine.py'"):
        settings_for([place])


def test_what_is_not_there_is_left_to_those_who_read_it(tmp_path: Path) -> None:
    assert settings_for([tmp_path / "nothing"]) == Settings()


# --- presets -------------------------------------------------------------------------------------

SOME: dict[str, Any] = {
    "window": "hanning", "width": 6, "smooth_evaluation": True, "clamp": True, "scale": "run",
    "bounds": {"a": (0.0, 1.0)}, "aggregate": "median", "measure": {"a": "reward"}, "variants": "params",
    "joint": 1.0,
}  # fmt: skip
REFUSED = {
    "standard": set(),
    "new-2022": {"window", "width", "smooth_evaluation", "clamp", "scale", "bounds", "aggregate", "joint"},
    "baker-2023": {"window", "width", "smooth_evaluation", "clamp", "scale", "bounds", "aggregate", "joint"},
    "l2metrics-3.1": {"measure", "variants", "joint"},
    "framework-2019": {"window", "width", "smooth_evaluation", "clamp", "scale", "bounds", "aggregate", "joint"},
}


@pytest.mark.parametrize("name", sorted(PRESETS.names()))
def test_a_preset_refuses_what_it_fixes_and_takes_the_rest(name: str) -> None:
    found = set()
    for setting, value in SOME.items():
        try:
            prepared(Settings(name, **{setting: value}), PRESETS.get(name))
        except MetricError:
            found.add(setting)
    assert found == REFUSED[name]


def test_what_a_preset_fixes_is_a_setting_and_has_a_reason() -> None:
    for one in PRESETS:
        assert set(one.fixes) <= set(OPTIONS)
        assert all(one.fixes.values())


def test_the_moving_average_of_2019_takes_any_odd_width() -> None:
    assert prepared(Settings("framework-2019", width=7), PRESETS.get("framework-2019")).width == 7
    with pytest.raises(MetricError, match="--width 6 is even"):
        prepared(Settings("framework-2019", width=6), PRESETS.get("framework-2019"))


def test_baselines_serve_metrics_that_are_named_under_any_preset() -> None:
    assert prepared(Settings("new-2022", joint=1.0, metrics=("intransigence",)), PRESETS.get("new-2022"))
