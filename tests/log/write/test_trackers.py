"""Trackers: exported records are read back unchanged, and a failing tracker costs no record."""

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


def write_lifetime(into: Path, name: str = "life", **more: Any) -> Path:
    """Log two tasks, evaluated before, between and after, with two measures."""
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
def test_reading_returns_the_records_written_as_events(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    tags = [("train/a/x", "train/a/y"), ("eval/ü/x", "eval/ü/y"), ("t" * 200, "u")]
    which, steps, moments, first, second = map(np.array, zip(*rows, strict=True))
    content = event_records(tags, which, steps, moments, np.stack([first, second], axis=1))
    file = tmp_path_factory.mktemp("events") / "events.out.tfevents.1"
    file.write_bytes(content)
    notes: list[str] = []
    result = [(scalar.tag, scalar.step, scalar.value, scalar.moment) for scalar in scalars_in(file, notes)]
    assert not notes
    assert result == [
        (tags[kind][index], step, value, moment)
        for kind, step, moment, *values in rows
        for index, value in enumerate(values)
    ]


def test_a_lifetime_scores_the_same_from_tensorboard_as_from_its_log(tmp_path: Path) -> None:
    lifetime = write_lifetime(tmp_path / "logs")
    sent = send(lifetime, f"tensorboard:{tmp_path / 'board'}")
    assert sent.runs == {"life": 42}
    ours, theirs = perdure.score(lifetime), perdure.score(tmp_path / "board" / "life")
    known = {name: value for name, value in ours.values.items() if value is not None}
    assert len(known) > 5
    assert {name: theirs.values[name] for name in known} == pytest.approx(known, rel=1e-12)


def test_the_scores_of_a_lifetime_are_sent_with_it(tmp_path: Path) -> None:
    lifetime = write_lifetime(tmp_path / "logs")
    send(lifetime, f"tensorboard:{tmp_path / 'board'}")
    (file,) = (tmp_path / "board" / "life").iterdir()
    result = {
        scalar.tag.removeprefix("perdure/"): scalar.value for scalar in scalars_in(file, []) if "perdure/" in scalar.tag
    }
    assert result == {name: value for name, value in perdure.score(lifetime).values.items() if value is not None}


def test_every_lifetime_of_a_folder_becomes_a_run_and_no_expert_does(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_lifetime(tmp_path / "logs", f"seed-{seed}", seed=seed, learner="mine")
    with perdure.Journal(tmp_path / "logs", "alone", role="expert") as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="pong", reward=1.0)
    sent = send(tmp_path / "logs", f"tensorboard:{tmp_path / 'board'}")
    assert sorted(sent.runs) == ["logs/seed-1", "logs/seed-2"]
    with pytest.raises(perdure.LogError, match="holds a run already"):
        send(tmp_path / "logs", f"tensorboard:{tmp_path / 'board'}")


def test_experts_and_twins_in_a_file_of_lifetimes_do_not_become_runs(tmp_path: Path) -> None:
    lifetime = perdure.read(write_lifetime(tmp_path / "logs"))
    experts_and_twins = [replace(lifetime, id=role, role=role) for role in ("expert", "twin")]
    perdure.write_lifetimes(tmp_path / "all.parquet", [lifetime, *experts_and_twins])
    assert list(send(tmp_path / "all.parquet", f"tensorboard:{tmp_path / 'board'}").runs) == ["all.parquet#life"]


def test_a_mirrored_journal_shows_what_an_export_of_it_shows(tmp_path: Path) -> None:
    lifetime = write_lifetime(tmp_path / "logs", mirror=f"tensorboard:{tmp_path / 'live'}")
    send(lifetime, f"tensorboard:{tmp_path / 'later'}")

    def shown(place: Path) -> list[tuple[str, int, float]]:
        (file,) = (place / "life").iterdir()
        return [
            (scalar.tag, scalar.step, scalar.value)
            for scalar in scalars_in(file, [])
            if not scalar.tag.startswith("perdure/")
        ]

    assert shown(tmp_path / "live") == shown(tmp_path / "later")


class Fake(ModuleType):
    """A tracker's library that records its calls, with the documented interface of MLflow, W&B and Aim."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[Any, ...]] = []
        self.summary: dict[str, float] = {}
        self.failing = False
        self.info = self

    run_id = "one"

    def init(self, **how: Any) -> Fake:
        self.calls.append(("init", how))
        return self

    def log(self, row: dict[str, float], step: int) -> None:
        if self.failing:
            raise ConnectionError("no route")
        self.calls.append(("log", step, row))

    def finish(self) -> None:
        self.calls.append(("finish",))

    def Run(self, **how: Any) -> Fake:  # noqa: N802
        self.calls.append(("run", how))
        return self

    def track(self, value: float, name: str, step: int) -> None:
        self.calls.append((name, value, step))

    def __setitem__(self, name: str, value: Any) -> None:
        self.calls.append(("set", name, value))

    def close(self) -> None:
        self.calls.append(("close",))

    def MlflowClient(self, tracking_uri: str) -> Fake:  # noqa: N802
        self.calls.append(("client", tracking_uri))
        return self

    def Metric(self, *fields: Any) -> tuple[Any, ...]:  # noqa: N802
        return fields

    def get_experiment_by_name(self, name: str) -> None:
        return None

    def create_experiment(self, name: str) -> str:
        return name

    def create_run(self, experiment: str, run_name: str) -> Fake:
        self.calls.append(("create", experiment, run_name))
        return self

    def log_param(self, run: str, name: str, value: Any) -> None:
        self.calls.append(("param", name, value))

    def log_batch(self, run: str, metrics: list[Any]) -> None:
        self.calls += metrics

    def set_terminated(self, run: str) -> None:
        self.calls.append(("end", run))


def install_fake(monkeypatch: pytest.MonkeyPatch, *names: str) -> Fake:
    fake = Fake(names[0])
    for name in names:
        monkeypatch.setitem(sys.modules, name, fake)
    return fake


def test_weights_and_biases_gets_a_row_per_record_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install_fake(monkeypatch, "wandb")
    send(write_lifetime(tmp_path, learner="mine", seed=3), "wandb:paper")
    how = fake.calls[0][1]
    assert (how["project"], how["mode"], how["config"]) == ("paper", "offline", {"method": "mine", "seed": 3})
    rows = [(step, row) for kind, step, *row in (message for message in fake.calls if message[0] == "log")]
    assert [step for step, _ in rows] == list(range(42))
    assert set(rows[0][1][0]) == {"eval/pong/reward", "eval/pong/loss"}
    assert fake.calls[-1] == ("finish",)
    assert fake.summary["perdure/performance_maintenance"] == pytest.approx(
        perdure.score(tmp_path / "life").values["performance_maintenance"]
    )


def test_mlflow_gets_names_in_characters_that_it_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install_fake(monkeypatch, "mlflow", "mlflow.tracking", "mlflow.entities")
    send(write_lifetime(tmp_path, learner="mine"), "mlflow:file:mlruns")
    assert ("client", "file:mlruns") in fake.calls
    assert ("param", "method", "mine") in fake.calls
    assert not any(message[:2] == ("param", "seed") for message in fake.calls)
    names = {message[0] for message in fake.calls if len(message) == 4 and isinstance(message[1], float)}
    assert {"train/freeway _/reward", "eval/pong/loss"} <= names
    assert fake.calls[-1] == ("end", "one")


def test_aim_gets_every_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install_fake(monkeypatch, "aim")
    send(write_lifetime(tmp_path, seed=1), "aim:there")
    assert fake.calls[0] == ("run", {"repo": "there", "experiment": "perdure"})
    assert sum(message[0] == "eval/pong/reward" for message in fake.calls) == 9
    assert fake.calls[-1] == ("close",)


def test_a_tracker_that_fails_costs_no_record_and_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake(monkeypatch, "wandb").failing = True
    with pytest.warns(UserWarning, match=r"takes no more \(ConnectionError: no route\)") as warned:
        lifetime = write_lifetime(tmp_path, mirror="wandb:paper")
    assert len(warned) == 1
    assert perdure.read(lifetime).experiences.height == 42


def test_a_missing_tracker_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aim", None)
    with pytest.raises(perdure.PerdureError, match=r"pip install 'aim>="):
        send(write_lifetime(tmp_path), "aim:there")


def test_a_mirror_that_is_not_a_tracker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(perdure.LogError, match="expected one of tensorboard:"):
        perdure.Journal(tmp_path, "life", mirror="nowhere")


def test_an_error_of_a_trackers_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake(monkeypatch, "wandb").failing = True
    with pytest.raises(perdure.PerdureError, match=r"wandb:paper refused a run \(ConnectionError: no route\)"):
        send(write_lifetime(tmp_path), "wandb:paper")
