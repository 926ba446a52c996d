"""Dataset: the loop of 2019 as printed, and the errors for a learner that leaves it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from perdure.errors import TaskError
from perdure.scenario.model import Mode, Task
from perdure.tasks.datasets import Answered, Dataset
from perdure.tasks.streams import ImageStream, drawn_digits

PAIR = Task("zero-one")


def dataset(number: int = 3, mode: Mode = "learn", **params: Any) -> tuple[Dataset, list[Answered]]:
    answers: list[Answered] = []
    return Dataset(PAIR, [(params, seed) for seed in range(number)], mode, answers.append), answers


def test_the_loop_of_2019_runs_as_printed() -> None:
    one, answers = dataset()
    updates = 0
    one.reset()
    done = False
    while not done:
        batch, done, _info = one.next_batch()
        y_hat = np.zeros(len(batch["inputs"]), dtype=int)
        y = one.get_labels(batch["id"], y_hat)
        if y:
            updates += 1
            assert set(y) <= {0, 1}
    assert updates == 3
    assert [answered.number for answered in answers] == [0, 1, 2]
    for answered in answers:
        assert answered.values["accuracy"] + answered.values["error"] == pytest.approx(1)


def test_labels_are_none_if_updates_are_off_and_the_batch_is_still_scored() -> None:
    one, answers = dataset(1, "evaluate")
    one.reset()
    batch, done, _ = one.next_batch()
    assert done
    assert one.get_labels(batch["id"], [0] * 32) is None
    assert len(answers) == 1


def test_the_logged_scores_are_those_of_the_answers() -> None:
    one, answers = dataset(2)
    one.reset()
    batch, _, _ = one.next_batch()
    labels = one.get_labels(batch["id"], np.zeros(32))
    assert labels is not None
    assert answers[0].values["accuracy"] == labels.count(0) / 32


def test_next_batch_before_the_answer_is_an_error_that_names_the_batch() -> None:
    one, _ = dataset()
    one.reset()
    one.next_batch()
    with pytest.raises(TaskError, match=r"before batch 0 was answered; submit its outputs with get_labels\(0, y_hat\)"):
        one.next_batch()


def test_next_batch_before_reset_is_an_error() -> None:
    with pytest.raises(TaskError, match="next_batch before reset"):
        dataset()[0].next_batch()


def test_next_batch_after_the_last_is_an_error() -> None:
    one, _ = dataset(1)
    one.reset()
    batch, _, _ = one.next_batch()
    one.get_labels(batch["id"], [0] * 32)
    with pytest.raises(TaskError, match="no batch is left after 1"):
        one.next_batch()
    with pytest.raises(TaskError, match="reset after 1 batches; a block runs once"):
        one.reset()


def test_an_answer_without_a_batch_or_to_another_batch_is_an_error() -> None:
    one, _ = dataset()
    one.reset()
    with pytest.raises(TaskError, match="no batch is open"):
        one.get_labels(0, [])
    one.next_batch()
    with pytest.raises(TaskError, match="batch 0 is open, not 7"):
        one.get_labels(7, [0] * 32)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [([0] * 31, "shape"), (np.zeros((32, 2)), "take the argmax"), (0, "shape"), ([[0], [0, 1]], "is no array")],
)
def test_an_answer_of_another_shape_is_an_error(answer: Any, hint: str) -> None:
    one, answers = dataset()
    one.reset()
    one.next_batch()
    with pytest.raises(TaskError, match=hint):
        one.get_labels(0, answer)
    assert not answers


def test_experiences_may_be_endless() -> None:
    dataset = Dataset(PAIR, (({}, seed) for seed in itertools.count()))
    dataset.reset()
    for _ in range(3):
        batch, done, _ = dataset.next_batch()
        dataset.get_labels(batch["id"], [0] * 32)
        assert not done


def test_each_batch_has_the_parameters_drawn_for_it() -> None:
    answers: list[Answered] = []
    dataset = Dataset(
        PAIR, [({"batch/size": 4}, 0), ({"batch/size": 9, "brightness": 0.3}, 1)], "learn", answers.append
    )
    dataset.reset()
    sizes = []
    done = False
    while not done:
        batch, done, _ = dataset.next_batch()
        sizes.append(len(batch["inputs"]))
        dataset.get_labels(batch["id"], [0] * sizes[-1])
    assert sizes == [4, 9]
    assert answers[1].given == {"batch/size": 9, "brightness": 0.3}


def test_the_same_seed_gives_the_same_batch_after_any_batches() -> None:
    def inputs(seeds: list[int]) -> Any:
        dataset = Dataset(PAIR, [({}, seed) for seed in seeds])
        dataset.reset()
        for _ in seeds:
            batch, _, _ = dataset.next_batch()
            dataset.get_labels(batch["id"], [0] * 32)
        return batch["inputs"]

    assert np.array_equal(inputs([5]), inputs([1, 2, 5]))


def test_an_unknown_parameter_offers_the_nearest() -> None:
    one, _ = dataset(1, brighness=0.1)
    one.reset()
    with pytest.raises(TaskError, match=r"'zero-one': takes no parameter 'brighness'; did you mean 'brightness'\?"):
        one.next_batch()


def test_an_unknown_parameter_of_the_task_is_refused_before_the_first_batch() -> None:
    with pytest.raises(TaskError, match=r"did you mean 'contrast'\?"):
        Dataset(Task("digits", params={"contrst": {"$choice": [1, 4]}}), [])


def test_an_episode_task_has_no_batches() -> None:
    with pytest.raises(TaskError, match="'pong' runs in episodes"):
        Dataset(Task("pong"), [])


class Odd(ImageStream):
    """A stream that returns invalid values, selected by `how`."""

    def __init__(self, how: str) -> None:
        kind = drawn_digits()
        super().__init__("odd", "odd", kind._pictures, 10)
        self.how = how

    def examples(self, params: Mapping[str, Any], number: int, mode: Mode, rng: np.random.Generator) -> Any:
        inputs, labels = super().examples(params, number, mode, rng)
        if self.how == "raises":
            raise KeyError("file")
        if self.how == "short":
            return inputs[:-1], labels
        inputs[0, 0, 0] = np.nan
        return inputs, labels

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        return {}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "'odd': examples raised KeyError"),
        ("short", r"inputs of shape \(31, 12, 12\) and labels of shape \(32,\); expected 32 of each"),
        ("nan", "inputs that are not finite"),
    ],
)
def test_a_task_that_breaks_its_contract_is_named(how: str, message: str) -> None:
    dataset = Dataset(Task("odd"), [({}, 0)], kind=Odd(how))
    dataset.reset()
    with pytest.raises(TaskError, match=message):
        dataset.next_batch()


def test_a_declared_measure_that_is_missing_is_named() -> None:
    class Mute(ImageStream):
        def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
            return {"error": 0.0}

    dataset = Dataset(Task("mute"), [({}, 0)], kind=Mute("mute", "mute", drawn_digits()._pictures, 10))
    dataset.reset()
    dataset.next_batch()
    with pytest.raises(TaskError, match="gave error; return accuracy as well"):
        dataset.get_labels(0, [0] * 32)
