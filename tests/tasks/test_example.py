"""The example task: short, valid, and runnable from a syllabus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perdure.errors import TaskError
from perdure.scenario.syllabus import read_syllabus
from perdure.tasks.contract import check_task
from perdure.tasks.episodes import Episodes

FOLDER = Path(__file__).parents[2] / "examples" / "task"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def test_the_example_keeps_the_contract() -> None:
    check_task("orchard:Orchard")
    check_task("orchard:Orchard", params={"wind": 0.5, "ripe/left": True})


def test_the_example_has_at_most_forty_lines() -> None:
    assert len((FOLDER / "orchard.py").read_text().splitlines()) <= 40


def test_its_syllabus_runs_it_and_its_own_measure_is_logged(tmp_path: Path) -> None:
    page = (FOLDER / "README.md").read_text()
    text = page.split("```json\n")[1].split("```")[0]
    (tmp_path / "orchard.json").write_text(json.dumps(json.loads(text)))
    (task,) = read_syllabus(tmp_path / "orchard.json").scenario.tasks
    with Episodes(task) as episodes:
        episode = episodes.begin({"wind": 0.3}, seed=2)
        episode.reset()
        while not episode.ended:
            episode.step(1)
        assert set(episode.log_info()) == {"reward", "steps", "blown"}
        with pytest.raises(TaskError, match=r"takes no parameter 'winds'; did you mean 'wind'\?"):
            episodes.begin({"winds": 0.3})
