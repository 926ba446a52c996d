"""Records in trackers: what was sent is what is read back, and a tracker that fails costs no record."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import perdure
from perdure.gather.trackers import send
from perdure.log.formats.tensorboard import event_records, scalars_in

TASKS = ("pong", "Freeway é")


def lived(into: Path, name: str = "life", **more: Any) -> Path:
    """Two tasks, evaluated before, between and after, two measures."""
    with perdure.Journal(into, name, measures={"reward": "higher", "loss": "lower"}, **more) as journal:
        generator = np.random.default_rng(0)
        block = experience = 0
        for learned in (None, *TASKS):
            if learned is not None:
                for _ in range(12):
                    journal.log(
                        block_num=block,
                        exp_num=experience,
                        block_type="train",
                        task_name=learned,
                        reward=float(generator.normal()),
                        loss=1 / 3,
                    )
                    experience += 1
                block += 1
            for task in TASKS:
                journal.log_many(
                    block_num=block,
                    exp_num=np.arange(experience, experience + 3),
                    block_type="test",
                    task_name=task,
                    reward=generator.normal(size=3) + (learned is not None),
                    loss=0.1,
                )
                experience += 3
                block += 1
    return into / name


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(0, 2**41),
            st.floats(0, 4e9),
            st.floats(allow_nan=False),
            st.floats(allow_nan=False),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_what_is_written_as_events_is_what_is_read(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    tags = [("train/a/x", "train/a/y"), ("eval/ü/x", "eval/ü/y"), ("t" * 200, "u")]
    which, steps, moments, first, second = map(np.array, zip(*rows, strict=True))
    content = event_records(tags, which, steps, moments, np.stack([first, second], axis=1))
    file = tmp_path_factory.mktemp("events") / "events.out.tfevents.1"
    file.write_bytes(content)
    notes: list[str] = []
    found = [(one.tag, one.step, one.value, one.moment) for one in scalars_in(file, notes)]
    assert not notes
    assert found == [
        (tags[kind][at], step, value, moment) for kind, step, moment, *values in rows for at, value in enumerate(values)
    ]


def test_a_life_scores_the_same_from_tensorboard_as_from_its_log(tmp_path: Path) -> None:
    life = lived(tmp_path / "logs")
    sent = send(life, f"tensorboard:{tmp_path / 'board'}")
    assert sent.runs == {"life": 42}
    ours, theirs = perdure.score(life), perdure.score(tmp_path / "board" / "life")
    known = {name: value for name, value in ours.values.items() if value is not None}
    assert len(known) > 5
    assert {name: theirs.values[name] for name in known} == pytest.approx(known, rel=1e-12)


def test_what_a_life_scored_is_sent_with_it(tmp_path: Path) -> None:
    life = lived(tmp_path / "logs")
    send(life, f"tensorboard:{tmp_path / 'board'}")
    (file,) = (tmp_path / "board" / "life").iterdir()
    found = {one.tag.removeprefix("perdure/"): one.value for one in scalars_in(file, []) if "perdure/" in one.tag}
    assert found == {name: value for name, value in perdure.score(life).values.items() if value is not None}


def test_every_lifetime_of_a_folder_becomes_a_run_and_experts_none(tmp_path: Path) -> None:
    for seed in (1, 2):
        lived(tmp_path / "logs", f"seed-{seed}", seed=seed, learner="mine")
    with perdure.Journal(tmp_path / "logs", "alone", role="expert") as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="pong", reward=1.0)
    sent = send(tmp_path / "logs", f"tensorboard:{tmp_path / 'board'}")
    assert sorted(sent.runs) == ["logs/seed-1", "logs/seed-2"]
    with pytest.raises(perdure.LogError, match="holds a run already"):
        send(tmp_path / "logs", f"tensorboard:{tmp_path / 'board'}")


def test_of_a_file_of_lifetimes_experts_and_twins_become_no_runs(tmp_path: Path) -> None:
    life = perdure.read(lived(tmp_path / "logs"))
    beside = [replace(life, id=role, role=role) for role in ("expert", "twin")]
    perdure.write_lifetimes(tmp_path / "all.parquet", [life, *beside])
    assert list(send(tmp_path / "all.parquet", f"tensorboard:{tmp_path / 'board'}").runs) == ["all.parquet#life"]


def test_a_mirrored_journal_shows_what_an_export_of_it_shows(tmp_path: Path) -> None:
    life = lived(tmp_path / "logs", mirror=f"tensorboard:{tmp_path / 'live'}")
    send(life, f"tensorboard:{tmp_path / 'later'}")

    def shown(place: Path) -> list[tuple[str, int, float]]:
        (file,) = (place / "life").iterdir()
        return [(one.tag, one.step, one.value) for one in scalars_in(file, []) if not one.tag.startswith("perdure/")]

    assert shown(tmp_path / "live") == shown(tmp_path / "later")


class Fake(ModuleType):
    """A tracker's library that remembers what it was asked; to the documented calls of MLflow, W&B and Aim."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.said: list[tuple[Any, ...]] = []
        self.summary: dict[str, float] = {}
        self.failing = False
        self.info = self

    run_id = "one"

    def init(self, **how: Any) -> Fake:
        self.said.append(("init", how))
        return self

    def log(self, row: dict[str, float], step: int) -> None:
        if self.failing:
            raise ConnectionError("no route")
        self.said.append(("log", step, row))

    def finish(self) -> None:
        self.said.append(("finish",))

    def Run(self, **how: Any) -> Fake:  # noqa: N802
        self.said.append(("run", how))
        return self

    def track(self, value: float, name: str, step: int) -> None:
        self.said.append((name, value, step))

    def __setitem__(self, name: str, value: Any) -> None:
        self.said.append(("set", name, value))

    def close(self) -> None:
        self.said.append(("close",))

    def MlflowClient(self, tracking_uri: str) -> Fake:  # noqa: N802
        self.said.append(("client", tracking_uri))
        return self

    def Metric(self, *fields: Any) -> tuple[Any, ...]:  # noqa: N802
        return fields

    def get_experiment_by_name(self, name: str) -> None:
        return None

    def create_experiment(self, name: str) -> str:
        return name

    def create_run(self, experiment: str, run_name: str) -> Fake:
        self.said.append(("create", experiment, run_name))
        return self

    def log_param(self, run: str, name: str, value: Any) -> None:
        self.said.append(("param", name, value))

    def log_batch(self, run: str, metrics: list[Any]) -> None:
        self.said += metrics

    def set_terminated(self, run: str) -> None:
        self.said.append(("end", run))


def faked(monkeypatch: pytest.MonkeyPatch, *names: str) -> Fake:
    fake = Fake(names[0])
    for name in names:
        monkeypatch.setitem(sys.modules, name, fake)
    return fake


def test_weights_and_biases_gets_a_row_per_record_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = faked(monkeypatch, "wandb")
    send(lived(tmp_path, learner="mine", seed=3), "wandb:paper")
    how = fake.said[0][1]
    assert (how["project"], how["mode"], how["config"]) == ("paper", "offline", {"method": "mine", "seed": 3})
    rows = [(step, row) for kind, step, *row in (one for one in fake.said if one[0] == "log")]
    assert [step for step, _ in rows] == list(range(42))
    assert set(rows[0][1][0]) == {"eval/pong/reward", "eval/pong/loss"}
    assert fake.said[-1] == ("finish",)
    assert fake.summary["perdure/performance_maintenance"] == pytest.approx(
        perdure.score(tmp_path / "life").values["performance_maintenance"]
    )


def test_mlflow_gets_names_in_characters_that_it_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = faked(monkeypatch, "mlflow", "mlflow.tracking", "mlflow.entities")
    send(lived(tmp_path, learner="mine"), "mlflow:file:mlruns")
    assert ("client", "file:mlruns") in fake.said
    assert ("param", "method", "mine") in fake.said
    assert not any(said[:2] == ("param", "seed") for said in fake.said)
    names = {said[0] for said in fake.said if len(said) == 4 and isinstance(said[1], float)}
    assert {"train/freeway _/reward", "eval/pong/loss"} <= names
    assert fake.said[-1] == ("end", "one")


def test_aim_gets_every_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = faked(monkeypatch, "aim")
    send(lived(tmp_path, seed=1), "aim:there")
    assert fake.said[0] == ("run", {"repo": "there", "experiment": "perdure"})
    assert sum(said[0] == "eval/pong/reward" for said in fake.said) == 9
    assert fake.said[-1] == ("close",)


def test_a_tracker_that_fails_costs_no_record_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faked(monkeypatch, "wandb").failing = True
    with pytest.warns(UserWarning, match=r"takes no more \(ConnectionError: no route\)") as said:
        life = lived(tmp_path, mirror="wandb:paper")
    assert len(said) == 1
    assert perdure.read(life).experiences.height == 42


def test_a_tracker_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aim", None)
    with pytest.raises(perdure.PerdureError, match=r"pip install 'aim>="):
        send(lived(tmp_path), "aim:there")


def test_a_mirror_that_is_no_tracker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(perdure.LogError, match="expected one of tensorboard:"):
        perdure.Journal(tmp_path, "life", mirror="nowhere")


def test_what_a_trackers_library_raises_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faked(monkeypatch, "wandb").failing = True
    with pytest.raises(perdure.PerdureError, match=r"wandb:paper refused a run \(ConnectionError: no route\)"):
        send(lived(tmp_path), "wandb:paper")
