"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from perdure.curves.model import Preparation
from perdure.metrics import METRICS, papers
from perdure.metrics.engine.declare import Departure, Preset
from perdure.metrics.engine.metric import Metric
from perdure.metrics.engine.score import summaries
from perdure.registry import Registry
from perdure.settings.presets import BAKER_2023, FRAMEWORK_2019, L2METRICS_31, NEW_2022, STANDARD

# --- where a preset differs from its document, and why -------------------------------------------

_WINDOW = Departure(
    "smoothing",
    "a flat window of a fifth of the block, at most 100; how it is padded is left open",
    "centred, the edges reflected without repeating the edge value; no smoothing where the window is shorter than 3",
    "a window that lags shifts every curve, and with it every saturation",
)
_RANGE = Departure(
    "range",
    "percentiles over all available curves of learner and experts",
    "over one lifetime, evaluations and smoothed learning, and its experts",
    "a lifetime's score would depend on which others are scored beside it",
)
_CONSTANT = Departure(
    "constant tasks",
    "not said",
    "a task whose range has no width scales to 1 and is left out of the lifetime's mean",
    "it carries no information, and nothing can be divided by its range",
)
_ONE_CAUSE = Departure(
    "transfer",
    "one task is learned between two evaluations",
    "where two or more were learned there is no value",
    "the change cannot be attributed to either",
)
_ASLEEP = Departure(
    "wake and sleep",
    "not said",
    "where any evaluation is asleep, only those are read; experts are compared on waking blocks",
    "one learner has two performances then, and a mean of both is neither",
)
_ELIGIBLE = Departure(
    "sample_efficiency",
    "only tasks that saturate count; how that is seen is left open",
    "no value where the curve falls, is highest at its first experience, or stays below a fifth of the expert's best; "
    "how many were left out is said",
    "the rule of l2metrics, which gives 0 in two of these cases; either flatters or punishes by a choice of ours",
)
_FROM_ONE = Departure(
    "sample_efficiency",
    "the place of the maximum; where counting starts is left open",
    "counted from 1",
    "a maximum at the first experience would divide by 0",
)

_STANDARD = (
    Departure(
        "forward_transfer, backward_transfer",
        "mean of ratios or of contrasts (Baker et al. 2023, Alg. 1, 2)",
        "mean of the logarithms of ratios",
        "a mean of ratios lies above 1 by chance alone: up to 6.7 without any transfer, with five 0/1 evaluations",
    ),
    Departure(
        "relative_performance",
        "blocks smoothed one by one, mean of ratios (Alg. 3)",
        "blocks joined, cut to the shorter length, then smoothed once; mean of logarithms",
        "smoothing before the cut moves the value where lengths differ",
    ),
    Departure(
        "sample_efficiency",
        "the maximum of the whole curve and where it lies (Alg. 4)",
        "the end of the curve, and when it reaches a target common to learner and experts",
        "the place of the maximum of a noisy plateau is chance; it rose for a learner that forgets everything",
    ),
    Departure(
        "performance_maintenance",
        "lifelong learning above 0",
        "*keeps* where a loss of 5 of 100 points is ruled out; *gains* above 0",
        "a learner that keeps everything lies at 0, and would be undecided for ever",
    ),
    Departure(
        "cumulative_gain",
        "the sign of every slope (New et al. 2022, App. B.2)",
        "a slope whose 95 % interval holds 0 counts 0",
        "every noisy plateau has a slope",
    ),
    Departure(
        "clamping",
        "at the 10th and 90th percentile",
        "none unless asked for; bounds that a log records count",
        "a fifth of all values would be moved, and ratios depend on where the scale's zero lies",
    ),
    Departure(
        "verdict",
        "one-tailed t, experts as constants (Baker et al. 2023)",
        "the two-sided interval decides; experts are a sample",
        "one or two shared experts gave a learner that is its own expert a verdict in 40 to 60 % of groups",
    ),
)

_NEW_2022 = (
    _WINDOW,
    _RANGE,
    _CONSTANT,
    _ASLEEP,
    _ONE_CAUSE,
    Departure(
        "backward_transfer",
        "both the average of a task's contrasts and the first of each pair",
        "the first of each ordered pair",
        "its notes decide for the first",
    ),
    _ELIGIBLE,
    _FROM_ONE,
    Departure(
        "cumulative_gain",
        "0 where the slope is 0",
        "also where the line rises or falls by less than 1e-9 of the range",
        "rounding decides nothing",
    ),
    Departure(
        "learn_burn",
        "below 1 demonstrates lifelong learning",
        "the number, without a verdict",
        "its interpretation is inverted with respect to its formula: fast learning after a change lies above 1",
    ),
    Departure(
        "verdict",
        "no test; the threshold alone",
        "a one-tailed t, as Baker et al. 2023 have it",
        "a mean over few lifetimes lies above a threshold by chance",
    ),
)

_BAKER_2023 = (
    _WINDOW,
    _RANGE,
    _CONSTANT,
    _ASLEEP,
    Departure(
        "forward_transfer, backward_transfer",
        "ratios in the text and all tables, contrasts in Alg. 1 and 2",
        "ratios, the contrasts beside them, and a flag where their means say opposite things",
        "the tables are what is to be reproduced",
    ),
    _ONE_CAUSE,
    Departure(
        "backward_transfer",
        "Alg. 2 begins at the second block, with nothing learned, and its pairs have no direction",
        "the first block's task counts as learned, and pairs are ordered",
        "the first task could not receive anything, and of two directions the later would be lost",
    ),
    Departure(
        "performance_maintenance",
        "Alg. 5 knows one evaluation of each task after a learning block",
        "every evaluation after the reference counts",
        "with one evaluation it is the same",
    ),
    Departure(
        "relative_performance",
        "one expert of a task, as long as the learner",
        "the mean over experts, each cut to the shorter length; flagged where lengths differ",
        "experts are rarely one and rarely as long",
    ),
    Departure(
        "sample_efficiency",
        "Alg. 4's window is a parameter without a value",
        "a fifth of the joined curve, at most 100, after each block was smoothed",
        "the window of the preparation it recommends",
    ),
    _ELIGIBLE,
    _FROM_ONE,
    Departure(
        "cost_overhead",
        "elapsed time averaged over the submitted runs (App. G)",
        "each lifetime's own, beside its experts' together",
        "so that every lifetime has a value, and the runs a spread",
    ),
    Departure(
        "verdict",
        "Table 14 prints the other tail's p for UPenn and Argonne where t is negative, and counts 52 of 90 or 45 of 85",
        "p is always that of a mean above the threshold: 49 of 90",
        "a negative t cannot speak for a mean above the threshold",
    ),
    Departure(
        "sd",
        "of the population in one configuration of HRL",
        "of the sample (n − 1), everywhere",
        "it is what the t test takes",
    ),
)


# --- presets -------------------------------------------------------------------------------------


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == STANDARD}


PRESETS: Registry[Preset] = Registry("preset", "perdure.presets")

for _one in (
    Preset(
        STANDARD,
        "The definitions: corrected algorithms, ratios averaged as logarithms, values scaled per task to 1–101.",
        Preparation(),
        _standard,
        summaries,
        "the documentation, What the numbers mean",
        departures=_STANDARD,
        margins=True,
    ),
    Preset(
        NEW_2022,
        "The metrics of 2022 to the letter: contrast transfer, maintenance as a flat mean, efficiency on whole curves.",
        papers.PREP,
        papers.new_2022,
        summaries,
        "New et al. 2022",
        papers.FIXES,
        departures=_NEW_2022,
    ),
    Preset(
        BAKER_2023,
        "The five metrics and the cost overhead of 2023 to the letter: arithmetic ratios, efficiency on whole curves.",
        papers.PREP,
        papers.baker_2023,
        summaries,
        "Baker et al. 2023",
        papers.FIXES,
        departures=_BAKER_2023,
    ),
):
    PRESETS.add(_one.name, _one)
PRESETS.add_later(L2METRICS_31, "perdure.classic.presets:L2METRICS_31")
PRESETS.add_later(FRAMEWORK_2019, "perdure.classic.presets:FRAMEWORK_2019")


def headline() -> tuple[str, ...]:
    """The numbers to lead with of a log: these alone are decided, against thresholds and between systems."""
    return tuple(name for name, one in preset(STANDARD).metrics.items() if one.headline == "log")


def preset(name: str) -> Preset:
    """The preset called `name`; an unknown one offers the nearest."""
    return PRESETS.get(name)
