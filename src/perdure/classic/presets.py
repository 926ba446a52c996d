"""The presets of older tools: l2metrics 3.1 and the framework of 2019, with where they differ from their documents."""

from __future__ import annotations

from perdure.classic import framework2019, l2metrics31, transfer2019
from perdure.metrics.declare import Metric
from perdure.metrics.presets import Departure, Preset
from perdure.settings import presets


def _framework_metrics() -> dict[str, Metric]:
    both = (vars(framework2019), vars(transfer2019))
    return {name: one for names in both for name, one in names.items() if isinstance(one, Metric)}


_L2METRICS_31 = (
    Departure(
        "verdict",
        "no test; the threshold alone",
        "a one-tailed t, as Baker et al. 2023 have it",
        "a mean over few lifetimes lies above a threshold by chance; the values themselves agree to the last digit",
    ),
)

_FRAMEWORK_2019 = (
    Departure(
        "moving average",
        "not said where a block is shorter than its window",
        "the block's plain mean",
        "all of its values would be edges, which are discarded",
    ),
    Departure(
        "recovery_time",
        "not said where a block never recovers",
        "one more than the block's length, flagged",
        "leaving it out would count only those who recover",
    ),
    Departure(
        "maintenance_on_test",
        "every metric of training, compared with testing",
        "saturation, the time to it and the mean, of the same task and parameters; not the integral",
        "by the integral, it says itself, only training phases can be compared",
    ),
    Departure(
        "ste_relative",
        "the expert's saturation from `taskinfo/info.json`",
        "or from the log of an expert; without either, no value",
        "a log says the same, and a missing expert is no ratio of 1",
    ),
    Departure(
        "score of a syllabus",
        "an average of the scores achieved",
        "the mean of the ratios to experts; every other value stands beside the question it answers",
        "rewards and numbers of episodes have no common mean",
    ),
    Departure("verdict", "no thresholds", "values as measured, no verdict", "the document decides nothing"),
)

L2METRICS_31 = Preset(
    presets.L2METRICS_31,
    "The reference implementation to the last digit, quirks included, for checking old results.",
    l2metrics31.PREP,
    lambda: l2metrics31.L2METRICS_31,
    l2metrics31.summaries,
    "l2metrics 3.1.0",
    refuses=l2metrics31.refuses,
    departures=_L2METRICS_31,
    names=l2metrics31.NAMES,
)

FRAMEWORK_2019 = Preset(
    presets.FRAMEWORK_2019,
    "The metrics of December 2019, on values as measured: each curve a moving average over eleven experiences.",
    framework2019.PREP,
    _framework_metrics,
    framework2019.summaries,
    "Metrics Framework, 5 Dec 2019",
    framework2019.FIXES,
    framework2019.refuses,
    _FRAMEWORK_2019,
    decides=False,
    taskinfo=True,
)
