"""The presets of New et al. 2022 and Baker et al. 2023, which reproduce published numbers.

They differ from `standard`: values are clamped at their own 10th and 90th percentile and scaled from the data, whatever
bounds are known. Ratios are averaged as they are. Efficiency compares the maxima of whole curves, and leaves out
learners that fall or fail. A block's gain is the sign of its slope, however uncertain.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec.structs import replace

from perdure.curves.arrays import Array, late, slope, smooth, start, terminal
from perdure.curves.experts import seconds_elapsed
from perdure.curves.model import Curve, Curves, Expert, Preparation
from perdure.metrics import METRICS, transfer
from perdure.metrics.arithmetic import NoValue, Value, flat, ratio, still_rising, transfer_ratios
from perdure.metrics.declare import Metric, metric
from perdure.metrics.efficiency import EXPERT_NOT_SATURATED, NOT_SATURATED
from perdure.metrics.presets import Preset
from perdure.scenario import sites
from perdure.settings.presets import BAKER_2023, NEW_2022

PREP = Preparation(clamp=True, recorded_bounds=False)
"""Appendix A of New et al. 2022, which Appendix C.1 of Baker et al. 2023 recommends."""

_FIXED = "the paper's own preparation and averages are what the preset stands for; standard takes it"
FIXES: Mapping[str, str] = dict.fromkeys(
    ("window", "width", "smooth_evaluation", "clamp", "scale", "bounds", "aggregate", "expert_average"), _FIXED
)

_NEW_2022_METRICS = (
    "performance_maintenance",
    "forward_transfer",
    "forward_transfer_contrast",
    "backward_transfer",
    "backward_transfer_contrast",
    "relative_performance",
    "sample_efficiency",
    "performance_recovery",
    "recovery_time",
    "droop",
    "recovery_rate",
    "cumulative_gain",
    "learn_burn",
    "terminal_performance",
)
_BAKER_2023_METRICS = (
    "performance_maintenance",
    "forward_transfer",
    "forward_transfer_contrast",
    "backward_transfer",
    "backward_transfer_contrast",
    "relative_performance",
    "sample_efficiency",
    "cost_overhead",
)
"""The metrics that the papers name, in the order in which tables show them."""

_NEW, _BAKER = "New et al. 2022", "Baker et al. 2023"
_ROUNDING = 1e-9  # a curve that falls or rises by less than this part of its range does neither
_FAILED = 0.2  # a learner below a fifth of the expert's best did not learn the task

_declared = partial(metric, register=False)
_relative_to_experts = partial(
    _declared,
    sites.each_task_learned,
    unit="ratio",
    threshold=1,
    headline="log",
    capability="continual learning",
)


@_relative_to_experts(name="relative_performance", condition="Transfer and Adaptation", source=_NEW)
def _relative_performance(learned: Curve, expert: Curve) -> float:
    """Measure how much is achieved while learning a task, relative to an expert of that task alone."""
    shared = min(len(learned), len(expert))
    return ratio(learned.first(shared).total, expert.first(shared).total, shared * learned.range)


@_relative_to_experts(name="relative_performance", condition="Scalability", source=f"{_BAKER}, Alg. 3")
def _relative_performance_of_equals(learned: Curve, expert: Curve) -> float | Value:
    """Measure how much is achieved while learning a task, relative to an expert of that task alone."""
    value = float(_relative_performance.formula(learned, expert))  # type: ignore[arg-type]
    if len(learned) == len(expert):
        return value
    return Value(value, ("the paper takes learner and expert to be equally long; both are cut to the shorter",))


@_relative_to_experts(name="sample_efficiency", condition="Scalability", source=_NEW)
def _sample_efficiency(learned: Curve, expert: Curve) -> Value:
    r"""Measure how high and how soon a task's learning saturates, relative to an expert's whole curve.

    $$\frac{\max_k L_k}{\max_k E_k} \cdot \frac{\operatorname{argmax}_k E_k}{\operatorname{argmax}_k L_k}$$

    Weakness: on a noisy plateau the highest value may be anywhere. Learners that fall or fail are left out, which
    flatters. The value rises for a learner that forgets everything.
    """
    both = ((learned.values, NOT_SATURATED), (expert.values, EXPERT_NOT_SATURATED))
    rising = (said for one, said in both if still_rising(start(one), late(one), terminal(one)))
    return Value(_efficiency(learned, expert), tuple(rising))


@_relative_to_experts(name="sample_efficiency", condition="Scalability", source=f"{_BAKER}, Alg. 4")
def _sample_efficiency_smoothed(learned: Curve, expert: Curve) -> float:
    r"""Measure how high and how soon joined and again smoothed learning saturates, relative to an expert's whole curve.

    $$\frac{\max_k L_k}{\max_k E_k} \cdot \frac{\operatorname{argmax}_k E_k}{\operatorname{argmax}_k L_k}$$

    Weakness: on a noisy plateau the highest value may be anywhere. Learners that fall or fail are left out, which
    flatters. The value rises for a learner that forgets everything.
    """
    return _efficiency(_smoothed_again(learned), _smoothed_again(expert))


def _smoothed_again(curve: Curve) -> Curve:
    """Smooth the joined curve once more after its blocks were smoothed, as Alg. 4 does."""
    values: Array = smooth(curve.values, np.array([0, len(curve)]), (0,))
    return Curve(values, curve.raw, curve.range, curve.floor)


def _efficiency(learned: Curve, expert: Curve) -> float:
    if learned.slope * len(learned) < -_ROUNDING * learned.range:
        raise NoValue("the learning curve falls, so it does not saturate")
    reached, expert_reached = learned.until_peak, expert.until_peak
    if reached == 1:
        raise NoValue("the learning curve is highest at its first experience, so it does not saturate")
    if expert_reached == 1:
        raise NoValue("the expert's curve is highest at its first experience, so it does not saturate")
    height = ratio(learned.peak, expert.peak, expert.range)
    if height < _FAILED:
        raise NoValue("the learner stays below a fifth of the expert's best, so it did not learn the task")
    return height * expert_reached / reached


@_declared(
    sites.each_learning_block,
    name="cumulative_gain",
    combine=flat,
    unit="sign",
    threshold=0,
    inclusive=True,
    condition="Continuous Learning",
    capability="continual learning",
    source=f"{_NEW}, App. B.2",
)
def _cumulative_gain(learned: Curve) -> float:
    r"""Measure how many more learning blocks rise than fall, as a share of all.

    $$\operatorname{sign}(\beta)$$

    Weakness: every noisy plateau has a slope, whose sign is chance.
    """
    if len(learned) < 2:
        raise NoValue("a single experience has no trend")
    rise = float(slope(learned.values))
    return 0.0 if abs(rise) * len(learned) <= _ROUNDING * learned.range else float(np.sign(rise))


@_declared(
    sites.timed_learning,
    name="cost_overhead",
    unit="ratio",
    better="lower",
    condition="Scalability",
    source=f"{_BAKER}, App. G",
)
def _cost_overhead(life: Curves, experts: tuple[Expert, ...]) -> float:
    r"""Measure how long a lifetime takes per learning experience, evaluations included, relative to its experts.

    $$\frac{s_{\text{life}}}{s_{\text{experts}}}, \quad s = \frac{\text{seconds from the first to the last
    experience}}{\text{learning experiences}}$$

    Weakness: evaluations count as time but not as experience, so a learner that is evaluated more costs more. Clocks
    measure the machine and everything else that runs on it.
    """
    elapsed = seconds_elapsed(life.passage)
    if elapsed is None or any(expert.elapsed is None for expert in experts):
        raise NoValue("needs timestamps of the first and the last experience, of the experts too")
    each = elapsed / life.scenario.learning_experiences
    expert_seconds = sum(expert.elapsed or 0.0 for expert in experts) / sum(expert.experiences for expert in experts)
    return ratio(each, expert_seconds, 0.0)


def new_2022() -> dict[str, Metric]:
    """Return the metrics of 2022: transfer as a contrast, maintenance as a flat mean, gain as a sign."""
    return {name: METRICS.get(name) for name in _NEW_2022_METRICS} | {
        "performance_maintenance": replace(METRICS.get("performance_maintenance"), combine=flat, source=_NEW),
        "forward_transfer": _in_place(transfer.forward_transfer_contrast),
        "backward_transfer": _in_place(transfer.backward_transfer_contrast),
        "relative_performance": _relative_performance,
        "sample_efficiency": _sample_efficiency,
        "cumulative_gain": _cumulative_gain,
    }


def _in_place(variant: Metric) -> Metric:
    """Return a variant under the name of its original, as a headline number if the original is one."""
    original = METRICS.get(variant.variant_of)
    return replace(variant, name=original.name, headline=original.headline, variant_of="")


def baker_2023() -> dict[str, Metric]:
    """Return the metrics of 2023: arithmetic means of ratios, the contrasts, and the cost of whole lifetimes."""

    def arithmetic(declared: Metric, source: str) -> Metric:
        return replace(declared, scale="linear", combine=transfer_ratios, source=f"{_BAKER}, {source}")

    return {name: METRICS.get(name) for name in _BAKER_2023_METRICS} | {
        "forward_transfer": arithmetic(transfer.forward_transfer, "Alg. 1"),
        "backward_transfer": arithmetic(transfer.backward_transfer, "Alg. 2"),
        "relative_performance": _relative_performance_of_equals,
        "sample_efficiency": _sample_efficiency_smoothed,
        "cost_overhead": _cost_overhead,
    }


# --- the presets -------------------------------------------------------------------------------

NEW_2022_PRESET = Preset(
    NEW_2022,
    "The metrics of 2022 to the letter: contrast transfer, maintenance as a flat mean, efficiency on whole curves.",
    PREP,
    new_2022,
    source="New et al. 2022",
    fixes=FIXES,
)
BAKER_2023_PRESET = Preset(
    BAKER_2023,
    "The five metrics and the cost overhead of 2023 to the letter: arithmetic ratios, efficiency on whole curves.",
    PREP,
    baker_2023,
    source="Baker et al. 2023",
    fixes=FIXES,
)
