"""TensorBoard, Weights & Biases and MLflow: the files in which they store a run."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import tempfile
import zlib
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError
from perdure.log.accuracy_matrix import MatrixLifetime
from perdure.log.formats import tensorboard
from perdure.log.formats.tensorboard import scalars_in
from perdure.log.formats.trackers import AVALANCHE, MLFLOW, TENSORBOARD, WANDB, RunReader
from perdure.log.read import Options, find
from perdure.testing import check_reader

# Written by TensorBoard 2.21.0 (EventFileWriter): its version, then eval/pong/reward at steps 3, 4 and 5 as 1.5 in a
# simple_value, 2.5 in a tensor's float_val, 3.5 in a tensor's content.
OWN = base64.b64decode(
    "SAAAAAAAAAD+kkidCUK8GdCUvtpBGg1icmFpbi5FdmVudDoyUi4KLHRlbnNvcmJvYXJkLnN1bW1hcnkud3JpdGVyLmV2ZW50X2ZpbGVfd3JpdGVy"
    "kqQYViYAAAAAAAAAc0/jAAkAAAAAAECPQBADKhkKFwoQZXZhbC9wb25nL3Jld2FyZBUAAMA/7eUh5ToAAAAAAAAAEpXq4gkAAAAAAEiPQBAEKi0K"
    "KwoQZXZhbC9wb25nL3Jld2FyZEIKCAESACoEAAAgQEoLCgkKB3NjYWxhcnNtAicjOgAAAAAAAAASleriCQAAAAAAUI9AEAUqLQorChBldmFsL3Bv"
    "bmcvcmV3YXJkQgoIARIAIgQAAGBASgsKCQoHc2NhbGFyc7P8PGY="
)
SCALARS = [  # a step, and the scalars that are logged at this step
    (0, {"eval/pong/reward": 0.0, "eval/freeway/reward": 0.1}),
    (1, {"train/pong/reward": 0.5, "train/loss": 9.0}),
    (2, {"train/pong/reward": 1.0}),
    (2, {"eval/pong/reward": 1.0, "eval/freeway/reward": 0.1}),
    (3, {"train/freeway/reward": 0.7}),
    (4, {"eval/pong/reward": 0.6, "eval/freeway/reward": 0.9}),
]
BLOCK_VALUES = [
    ("evaluate", "pong", [0.0]),
    ("evaluate", "freeway", [0.1]),
    ("learn", "pong", [0.5, 1.0]),
    ("evaluate", "pong", [1.0]),
    ("evaluate", "freeway", [0.1]),
    ("learn", "freeway", [0.7]),
    ("evaluate", "pong", [0.6]),
    ("evaluate", "freeway", [0.9]),
]


def block_values(lifetime: perdure.Lifetime) -> list[tuple[str, str, list[float]]]:
    passage = lifetime.passage()
    ends = [*passage.starts[1:], len(passage.values)][: len(passage.scenario.blocks)]
    return [
        (block.mode, block.task, [round(float(value), 6) for value in passage.values[start:end]])
        for block, start, end in zip(passage.scenario.blocks, passage.starts, ends, strict=False)
    ]


# --- TensorBoard, in the documented format; the reader is also tested with a file of the library above ------------


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(content: bytes) -> bytes:
    size = struct.pack("<Q", len(content))
    checked = [struct.pack("<I", int(tensorboard.checksums(part, [0], [len(part)])[0])) for part in (size, content)]
    return size + checked[0] + content + checked[1]


def event(step: int, scalars: dict[str, float]) -> bytes:
    values = b"".join(
        message(1, message(1, tag.encode()) + b"\x15" + struct.pack("<f", value)) for tag, value in scalars.items()
    )
    return b"\x09" + struct.pack("<d", 1000.0 + step) + b"\x10" + varint(step) + message(5, values)


def write_events(folder: Path, lifetime: Sequence[tuple[int, dict[str, float]]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = record(b"\x1a\x0dbrain.Event:2")
    for step, scalars in lifetime:
        for tag, value in scalars.items():  # one event per scalar, as SummaryWriter.add_scalar does
            content += record(event(step, {tag: value}))
    file = folder / "events.out.tfevents.1000.host.1.0"
    file.write_bytes(content)
    return file


def test_a_file_of_tensorboard_gives_its_scalars_of_all_three_kinds(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    file.write_bytes(OWN)
    notes: list[str] = []
    scalars = list(scalars_in(file, notes))
    assert [(scalar.tag, scalar.step, scalar.value, scalar.moment) for scalar in scalars] == [
        ("eval/pong/reward", 3, 1.5, 1000.0),
        ("eval/pong/reward", 4, 2.5, 1001.0),
        ("eval/pong/reward", 5, 3.5, 1002.0),
    ]
    assert not notes


def test_the_checksum_is_the_masked_crc_of_rfc_3720() -> None:
    """Compare with appendix B.4: 32 bytes of zeros, of ones, rising and falling, masked by TFRecord's rule."""
    rising = bytes(range(32))
    given = [bytes(32), b"\xff" * 32, rising, rising[::-1]]
    plain = [0x8A9136AA, 0x62A8AB43, 0x46DD794E, 0x113FDB5C]
    masked = [((value >> 15 | value << 17) + 0xA282EAD8) % 2**32 for value in plain]
    assert tensorboard.checksums(b"".join(given), [0, 32, 64, 96], [32] * 4).tolist() == masked


def test_a_run_of_tensorboard_is_a_lifetime_by_its_tags(tmp_path: Path) -> None:
    file = write_events(tmp_path / "ewc", SCALARS)
    check_reader(TENSORBOARD, file.parent)
    check_reader(TENSORBOARD, file)
    lifetime = perdure.read(file.parent)
    assert block_values(lifetime) == BLOCK_VALUES
    assert dict(lifetime.measures) == {"reward": "higher"}
    assert list(find(tmp_path)) == [file.parent]


def test_a_truncated_record_leaves_the_records_before_it_and_a_note(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    last = len(OWN) - (58 + 16)
    for length in range(last + 1, len(OWN)):
        file.write_bytes(OWN[:length])
        notes: list[str] = []
        assert [scalar.value for scalar in scalars_in(file, notes)] == [1.5, 2.5]
        assert "cut off" in notes[0]


def test_a_changed_byte_never_changes_a_value_silently(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    for index in range(len(OWN)):
        file.write_bytes(OWN[:index] + bytes([OWN[index] ^ 0x10]) + OWN[index + 1 :])
        notes: list[str] = []
        try:
            values = [scalar.value for scalar in scalars_in(file, notes)]
        except LogError:
            continue
        assert notes, index  # a length beyond the end of the file looks like a truncated file
        assert values in ([], [1.5], [1.5, 2.5])


def test_the_tags_of_one_task_are_its_curve_with_a_note_on_tags(tmp_path: Path) -> None:
    """The tags are those of Stable-Baselines3."""
    lifetime = [(step, {"rollout/ep_rew_mean": float(step), "train/loss": 1.0}) for step in range(1, 5)]
    result = perdure.read(write_events(tmp_path / "ppo_1", lifetime).parent)
    assert block_values(result) == [("learn", "ppo_1", [1, 2, 3, 4])]
    assert any("eval/TASK/MEASURE" in note for note in result.notes)


def test_custom_patterns_give_the_meaning_of_tags(tmp_path: Path) -> None:
    lifetime = [
        (1, {"return of pong": 0.5}),
        (2, {"score(pong)": 1.0, "score(freeway)": 0.0}),
        (3, {"return of freeway": 0.5}),
        (4, {"score(pong)": 0.4, "score(freeway)": 1.0}),
    ]
    place = write_events(tmp_path / "run", lifetime).parent
    with pytest.raises(LogError, match="no tag that names a task"):
        perdure.read(place)
    columns = {"evaluate": "score({task})", "learn": "return of {task}"}
    assert [(mode, task) for mode, task, _ in block_values(perdure.read(place, columns=columns))] == [
        ("learn", "pong"),
        ("evaluate", "pong"),
        ("evaluate", "freeway"),
        ("learn", "freeway"),
        ("evaluate", "pong"),
        ("evaluate", "freeway"),
    ]


def test_tags_of_cora_are_recognised(tmp_path: Path) -> None:
    """The tags follow continual_rl's source (task_base.py): train_reward/RUN and eval_reward/RUN."""
    lifetime = [
        (1, {"train_reward/0": 1.0}),
        (2, {"eval_reward/0": 2.0, "eval_reward/1": 0.0}),
        (3, {"train_reward/1": 1.0}),
    ]
    result = perdure.read(write_events(tmp_path / "cora", lifetime).parent)
    assert [(mode, task) for mode, task, _ in block_values(result)] == [
        ("learn", "0"),
        ("evaluate", "0"),
        ("evaluate", "1"),
        ("learn", "1"),
    ]


def test_tags_of_avalanche_are_an_accuracy_matrix_in_the_order_of_experiences(tmp_path: Path) -> None:
    """The tags are Avalanche's documented metric names."""
    tag = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00"
    lifetime = [(10, {f"{tag}0": 0.9, f"{tag}1": 0.1}), (20, {f"{tag}0": 0.5, f"{tag}1": 0.8})]
    result = perdure.read(write_events(tmp_path / "naive", lifetime).parent)
    assert isinstance(result, MatrixLifetime)
    assert np.round(result.matrix.after, 6).tolist() == [[0.9, 0.5], [0.1, 0.8]]


def test_evaluations_without_the_learned_task_are_refused_with_the_tags_to_log(tmp_path: Path) -> None:
    lifetime = [(1, {"eval/a/reward": 0.9, "eval/b/reward": 0.1}), (2, {"eval/a/reward": 0.5, "eval/b/reward": 0.8})]
    with pytest.raises(LogError, match=r"nothing says which task was learned when.*train/TASK/MEASURE"):
        perdure.read(write_events(tmp_path / "run", lifetime).parent)


def test_a_growing_set_of_evaluated_tasks_shows_the_learned_task(tmp_path: Path) -> None:
    lifetime = [(1, {"test/a/acc": 0.9}), (2, {"test/a/acc": 0.5, "test/b/acc": 0.8})]
    result = perdure.read(write_events(tmp_path / "run", lifetime).parent)
    assert isinstance(result, MatrixLifetime)
    assert result.matrix.tasks == ("a", "b")
    assert result.matrix.after[0].round(6).tolist() == [0.9, 0.5]


# --- Weights & Biases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an offline run written by the library."""
    wandb = pytest.importorskip("wandb", reason="the run is made by the library")
    folder = tmp_path_factory.mktemp("wandb")
    settings = wandb.Settings(console="off", silent=True, x_disable_stats=True, x_disable_meta=True)
    run = wandb.init(
        mode="offline", dir=str(folder), project="p", config={"method": "ewc", "seed": 3}, settings=settings
    )
    for _, scalars in SCALARS:
        run.log(scalars)
    run.finish()
    wandb.teardown()  # finish() returns before the file is written
    return next((folder / "wandb").glob("offline-run-*"))


def test_an_offline_run_of_the_library_is_a_lifetime_with_its_method_and_seed(offline: Path) -> None:
    check_reader(WANDB, offline)
    lifetime = perdure.read(offline)
    assert block_values(lifetime) == [item for _, same in groupby(BLOCK_VALUES, itemgetter(0)) for item in sorted(same)]
    assert (lifetime.learner, lifetime.seed) == ("ewc", 3)
    assert offline.resolve() in {place.resolve() for place in find(offline.parent)}


def test_an_offline_run_cut_off_anywhere_is_read_up_to_there_or_refused(offline: Path, tmp_path: Path) -> None:
    whole = next(offline.glob("*.wandb")).read_bytes()
    file = tmp_path / "run-x.wandb"
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with contextlib.suppress(LogError):
            messages = block_values(WANDB.read(file, Options()))
            assert [mode for mode, *_ in messages] == [mode for mode, *_ in BLOCK_VALUES[: len(messages)]]


def test_a_history_of_json_lines_is_read_as_an_offline_run_is(tmp_path: Path) -> None:
    """The file has the documented format (wandb-history.jsonl)."""
    (tmp_path / "files").mkdir()
    rows = [{**scalars, "_step": step, "_runtime": 1.5, "image": {"_type": "image"}} for step, scalars in SCALARS]
    (tmp_path / "files" / "wandb-history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    check_reader(WANDB, tmp_path)
    assert block_values(perdure.read(tmp_path)) == BLOCK_VALUES


def test_a_history_with_the_learned_task_is_a_wide_table(tmp_path: Path) -> None:
    rows = [
        {"current_task": "pong", "pong": 0.5, "freeway": 0.0},
        {"current_task": "freeway", "pong": 0.1, "freeway": 1.0},
    ]
    (tmp_path / "wandb-history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(mode, task) for mode, task, _ in block_values(perdure.read(tmp_path))][:2] == [
        ("learn", "pong"),
        ("evaluate", "pong"),
    ]


def test_an_exported_history_is_a_table_of_tags(tmp_path: Path) -> None:
    """The file has the format of `run.history().to_csv()`."""
    tags = list(dict.fromkeys(tag for _, scalars in SCALARS for tag in scalars))
    lines = [",".join(["_step", "_runtime", *tags])]
    lines += [
        ",".join([str(index), "1.5", *(str(scalars.get(tag, "")) for tag in tags)])
        for index, (_, scalars) in enumerate(SCALARS)
    ]
    file = tmp_path / "history.csv"
    file.write_text("\n".join(lines) + "\n")
    assert list(find(tmp_path)) == [file]
    assert block_values(perdure.read(file)) == BLOCK_VALUES


# --- MLflow ----------------------------------------------------------------------------------------------------------


def write_file_store(run: Path, *, restart: bool = False) -> Path:
    """Write a run as MLflow 3.17's file store; with `restart`, steps begin again with each block and times give the
    order.
    """
    (run / "params").mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: x\n")
    (run / "params" / "seed").write_text("7")
    (run / "params" / "method").write_text("ewc")
    for index, (step, scalars) in enumerate(SCALARS):
        for tag, value in scalars.items():
            file = run / "metrics" / tag
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as out:
                out.write(f"{1794790339440 + index} {value} {-index if restart else step}\n")
    return run


@pytest.mark.parametrize("restart", [False, True])
def test_a_run_of_mlflows_file_store_is_a_lifetime_with_its_method_and_seed(tmp_path: Path, restart: bool) -> None:
    run = write_file_store(tmp_path / "mlruns" / "0" / "aa630d83", restart=restart)
    check_reader(MLFLOW, run)
    lifetime = perdure.read(run)
    # Values of one moment are in the order of their names: a file per metric has no other order.
    assert block_values(lifetime) == [BLOCK_VALUES[index] for index in (1, 0, 2, 4, 3, 5, 7, 6)]
    assert (lifetime.learner, lifetime.seed) == ("ewc", 7)
    assert list(find(tmp_path / "mlruns")) == [run]


def test_a_bad_line_of_a_metric_is_named(tmp_path: Path) -> None:
    run = write_file_store(tmp_path / "run")
    (run / "metrics" / "train" / "loss").write_text("1794790339440 0.5 0\n1794790339441 half 1\n")
    with pytest.raises(LogError, match="loss:2: '1794790339441 half 1'"):
        perdure.read(run)


# --- any bytes -------------------------------------------------------------------------------------------------------


def level(content: bytes) -> bytes:
    """Return a record of a LevelDB log, whose checksum is right for any content."""
    return struct.pack("<IHB", zlib.crc32(content, zlib.crc32(b"\x01")), len(content), 1) + content


@given(st.binary(max_size=80))
def test_any_bytes_give_a_log_error_and_nothing_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        metric = Path(folder, "run", "metrics", "eval", "pong", "reward")
        metric.parent.mkdir(parents=True)
        Path(folder, "run", "meta.yaml").write_text("")
        files: list[tuple[RunReader, Path, Path, bytes]] = [
            (TENSORBOARD, Path(folder, "tfevents"), Path(folder, "tfevents"), content),
            (TENSORBOARD, Path(folder, "tfevents"), Path(folder, "tfevents"), record(content)),
            (TENSORBOARD, Path(folder, "tfevents"), Path(folder, "tfevents"), record(message(5, message(1, content)))),
            (WANDB, Path(folder, "x.wandb"), Path(folder, "x.wandb"), content),
            (WANDB, Path(folder, "x.wandb"), Path(folder, "x.wandb"), b":W&B\xe1\xbe\x00" + level(content)),
            (WANDB, Path(folder, "x.wandb"), Path(folder, "x.wandb"), b":W&B\xe1\xbe\x00" + level(message(2, content))),
            (WANDB, Path(folder, "wandb-history.jsonl"), Path(folder, "wandb-history.jsonl"), content + b"\n"),
            (MLFLOW, Path(folder, "run"), metric, content + b"\n"),
        ]
        for reader, place, file, written in files:
            file.write_bytes(written)
            with contextlib.suppress(LogError):
                reader.read(place, Options())


# --- Avalanche's JSON, in the documented format ---------------------------------------------------------------------


def test_avalanches_metrics_as_json_are_an_accuracy_matrix(tmp_path: Path) -> None:
    tag = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00"
    message = {
        "Loss_MB/train_phase/train_stream/Task000": [[1, 2], [0.5, 0.4]],
        f"{tag}0": [[10, 20], [0.9, 0.5]],
        f"{tag}1": [[10, 20], [0.1, 0.8]],
    }
    file = tmp_path / "metrics.json"
    file.write_text(json.dumps(message))
    check_reader(AVALANCHE, file)
    lifetime = perdure.read(file)
    assert isinstance(lifetime, MatrixLifetime)
    assert lifetime.matrix.after.tolist() == [[0.9, 0.5], [0.1, 0.8]]


@given(st.binary(max_size=60))
def test_any_bytes_in_avalanches_json_give_a_log_error_and_nothing_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "m.json")
        file.write_bytes(b'{"Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp000": [[1], [' + content)
        assert AVALANCHE.recognises(file)
        with contextlib.suppress(LogError):
            AVALANCHE.read(file, Options())
