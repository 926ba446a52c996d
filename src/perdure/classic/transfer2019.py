"""The transfer metrics of the 2019 framework: how learning one task changes another, compared with experts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from perdure.classic import sites2019
from perdure.classic.framework2019 import (
    better_than,
    declared_2019,
    recovered,
    saturated,
    stated,
    steps_to_saturation,
)
from perdure.curves.model import Curve, Curves, Expert
from perdure.metrics.arithmetic import NoValue, Value
from perdure.metrics.declare import ADAPTING, VerdictWords
from perdure.scenario.sites import Site

_adapting = partial(declared_2019, capability=ADAPTING)


@_adapting(
    sites2019.evaluated_before_learned,
    unit="ratio",
    answers={ADAPTING: "How well does it do a task that it only knows another of?"},
    words=VerdictWords(pairs="a task not learned yet, beside its expert"),
)
def ste_forward_transfer(test: Curve, expert: Expert, site: Site, life: Curves) -> float:
    r"""How high a task that was never learned saturates after another was learned, relative to its expert.

    $$\frac{\mathrm{sat}(\text{test})}{\mathrm{sat}(\text{expert})}$$

    Weakness: nothing is said of before: a task that is easy from the start reads as transfer. A short test
    saturates lower than an expert's long training.
    """
    return better_than(saturated(test, life), stated(expert, life), life, site.task, test.range)


@_adapting(
    sites2019.evaluated_after_both,
    unit="ratio",
    answers={ADAPTING: "How well does it still do a task after it learned another?"},
    words=VerdictWords(pairs="a task learned before, beside its expert"),
)
def ste_reverse_transfer(test: Curve, expert: Expert, site: Site, life: Curves) -> float:
    r"""How high a learned task saturates after another was learned, relative to its expert.

    $$\frac{\mathrm{sat}(\text{test})}{\mathrm{sat}(\text{expert})}$$

    Weakness: nothing is said of before: it does not tell what was forgotten from what was never learned.
    """
    return better_than(saturated(test, life), stated(expert, life), life, site.task, test.range)


@_adapting(
    sites2019.first_learning_of_each_set,
    unit="ratio",
    answers={ADAPTING: "Does it learn a task sooner than a learner of that task alone?"},
)
def time_to_learn_gain(learned: Curve, expert: Expert, life: Curves) -> Value:
    r"""How many times as long an expert takes to saturate as the learner does when it first learns the task.

    $$\frac{\operatorname{argmax}_k s_k(\text{expert})}{\operatorname{argmax}_k s_k(\text{learned})}$$

    Weakness: on a noisy plateau the highest value lies anywhere, and who saturates low saturates soon.
    """
    if expert.saturation is not None:
        raise NoValue("info.json states no times; it needs a log of the expert")
    ratio = steps_to_saturation(expert.all_learning, life) / steps_to_saturation(learned, life)
    uneven = len(expert.all_learning) != len(learned)
    return Value(ratio, ("learner and expert learned for different lengths",) if uneven else ())


@_adapting(sites2019.recovered_after_another, unit="ratio")
def transfer_of_recovery(site: Site, life: Curves) -> Value:
    r"""How many times as fast a task recovers from changes of its parameters as the task learned before it did.

    $$\frac{\operatorname{mean}(1 + R(\text{before}))}{\operatorname{mean}(1 + R(\text{after}))}$$

    Steps are counted from 1; a block that never recovers counts as one more than its length.

    Weakness: two different tasks are compared: the one that is easier recovers faster, whatever was carried over.
    Exchange them in other lifetimes.
    """
    return _recovery(site, life)


@_adapting(sites2019.maintained_after_another, unit="ratio")
def transfer_of_maintenance(site: Site, life: Curves) -> float:
    r"""How much more of its saturation a task keeps in evaluation than the task learned before it does.

    $$\frac{K(\text{after})}{K(\text{before})}, \quad K = \operatorname{mean}
    \frac{\mathrm{sat}(\text{tests})}{\mathrm{sat}(\text{learned})}$$

    Weakness: two different tasks are compared: the one that is easier is kept better, whatever was carried over.
    """
    return _maintenance(site, life)


@_adapting(
    sites2019.learned_after_another,
    unit="ratio",
    answers={ADAPTING: "Does it cope with changes better once it has learned another task?"},
)
def transfer_of_continual_learning(site: Site, life: Curves) -> float | Value:
    r"""How much better a task learned after another recovers and is maintained than the other: the mean of both.

    $$\frac{1}{2} \left( \frac{\operatorname{mean}(1 + R(\text{before}))}{\operatorname{mean}(1 + R(\text{after}))}
    + \frac{K(\text{after})}{K(\text{before})} \right)$$

    Weakness: two different tasks are compared, as in its two parts.
    """
    return _maintenance(site, life) if "after_tests" in site.blocks else _recovery(site, life)


def _recovery(site: Site, life: Curves) -> Value:
    times: dict[str, list[int]] = {}
    flags: tuple[str, ...] = ()
    for which in ("before", "after"):
        for previous, later in pairwise(life.over((index,)) for index in site.blocks[which]):
            steps = recovered(previous, later, life)
            if steps is None:
                steps, flags = len(later) + 1, ("a block never recovered",)
            times.setdefault(which, []).append(1 + steps)
    return Value(_mean(times["before"]) / _mean(times["after"]), flags)


def _maintenance(site: Site, life: Curves) -> float:
    kept: dict[str, float] = {}
    for which in ("before", "after"):
        pairs = zip(site.blocks[f"{which}_tests"], site.blocks[which], strict=True)
        kept[which] = _mean([_kept(life, test, train) for test, train in pairs])
    if kept["before"] <= 0:
        raise NoValue("nothing of what was learned before is left in evaluation, so that no ratio to it means anything")
    return kept["after"] / kept["before"]


def _kept(life: Curves, test: int, train: int) -> float:
    """Return the share of its saturation in learning that a block keeps in evaluation."""
    tested, trained = life.over((test,)), life.over((train,))
    task = life.scenario.blocks[train].task
    return better_than(saturated(tested, life), saturated(trained, life), life, task, trained.range)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
