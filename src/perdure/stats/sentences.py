"""Results in words: the word of a verdict, its meaning, and one sentence per comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perdure.metrics import METRICS
from perdure.metrics.declare import VerdictWords
from perdure.metrics.presets import PRESETS
from perdure.settings.presets import STANDARD
from perdure.text import interval, number, p_words, percent, plural

if TYPE_CHECKING:
    from perdure.metrics.declare import Threshold
    from perdure.stats.compare import Difference
    from perdure.stats.model import Decision, Verdict


MARKS: Mapping[str, str] = {"met": "✓", "not met": "✗", "undecided": "?"}

RULE = (
    "Met: the whole interval is above threshold − margin. Not met: it is entirely below. Otherwise: undecided. The "
    "two-sided p agrees with the interval. The margin is 0 unless set, and 5 of 100 points for performance maintenance "
    "and bwt: gains (above 0), keeps (a loss of the margin or more is ruled out), loses (below 0, but a loss of the "
    "margin is undecided), forgets (below 0 − margin). Ratios are averaged as logarithms. Experts are a sample, as "
    "lifetimes are. Metrics without a verdict are exploratory. n lifetimes leave open that a share of 1 − .05^(1/n) "
    "collapses. A task is learned if its curve rises over the lifetimes, and not learned if the rise is below 5 points."
)
_PAPERS = (
    "Decided as {preset} does: met where a one-tailed t test gives p < .05 above the threshold, not met where it gives "
    "p < .05 below; the 90 % interval says the same. Arithmetic means, experts as constants."
)
_UNDECIDED = "{preset} gives no verdicts. Arithmetic means and 90 % intervals, experts as constants."

_OPEN = "undecided"
_OF_CHANGE = ("gains", "keeps", "loses", "forgets")
_PLAIN = VerdictWords()


def words_of(metric: str, bar: Threshold | None = None) -> VerdictWords:
    """Return the words of a metric's verdicts, by its declaration if `bar` has none."""
    if bar is not None and bar.words is not None:
        return bar.words
    return (METRICS.get(metric).words if metric in METRICS else None) or _PLAIN


def verdict_words() -> tuple[str, ...]:
    """Return the words of the verdicts of Perdure's metrics; custom metrics may have others."""
    declared = (one.words for one in METRICS if one.words and not one.words.of_change)
    either = dict.fromkeys(word for one in (*declared, _PLAIN) for word in (one.better, one.worse))
    return (*_OF_CHANGE, *either, _OPEN)


def rule_of(preset: str) -> str:
    """Return the rule by which a preset gives verdicts."""
    return RULE if preset == STANDARD else (_PAPERS if decides(preset) else _UNDECIDED).format(preset=preset)


def decides(preset: str) -> bool:
    """Return whether a preset gives any verdict; undeclared presets do."""
    return preset not in PRESETS or PRESETS.get(preset).decides


def word_of(words: VerdictWords, verdict: Verdict, ends: tuple[float, float], slack: float, none: float) -> str:
    """Return the metric's word for the verdict; `ends` are those of the interval minus the threshold."""
    if words.of_change:
        low, high = ends
        if low > none:
            return "gains"
        if low > -slack + none:
            return "keeps"
        if high < -slack - none:
            return "forgets"
        return "loses" if high < -none else _OPEN
    return {"met": words.better, "not met": words.worse}.get(verdict, _OPEN)


FAVOURABLE = ("gains", "keeps", "helps", "more", "faster")
"""Words of verdicts on one group that appear with the share of lifetimes that may collapse all the same."""
_MANY_LIFETIMES = 11
"""From here on, a verdict comes before the share of lifetimes that may collapse."""


def collapse_share(n: int) -> float:
    """Return the largest share of collapsing lifetimes that leaves a chance of 5 % of none among `n`."""
    return 1 - 0.05 ** (1 / n)


def with_collapse_share(verdict: str, n: int) -> str:
    """Return a favourable verdict with the share of lifetimes that may collapse; few lifetimes have the share first."""
    caution = f"{n} lifetimes cannot rule out that up to {percent(collapse_share(n))} collapse"
    return f"{caution}; on average {verdict}" if n < _MANY_LIFETIMES else f"{verdict}; {caution}"


def meaning(metric: str, words: VerdictWords, made: Decision, n: int) -> str:
    """Return the meaning of the word for `n` lifetimes."""
    text = _meaning(metric, words, made)
    if made.word not in FAVOURABLE or not text:
        return text
    lost = n - made.above_count if words.of_change and made.above_count is not None else 0
    return f"{text}; of the mean: {lost} of {n} lifetimes lost as much" if lost else with_collapse_share(text, n)


def _meaning(metric: str, words: VerdictWords, made: Decision) -> str:
    margin, word = number(made.margin), made.word or ""
    points = " points" if metric in METRICS and METRICS.get(metric).unit == "points" else ""
    if word == "gains":
        return "it gets better while other tasks are learned"
    if word == "keeps":
        assert made.high is not None
        little = f"; it loses a little, less than {margin}{points}" if made.high < 0 else ""
        return f"a loss of {margin}{points} or more is ruled out{little}"
    if word == "forgets":
        return f"it loses more than {margin}{points}" if made.margin else "it loses what it learned"
    if word == "loses":
        assert made.low is not None
        assert made.high is not None
        between = f"loses between {interval(-made.high, -made.low, ' and ')}{points}"
        return f"{between}; whether it is {margin} or more is undecided; {would_decide(made)}".removesuffix("; ")
    return would_decide(made) if word == _OPEN else words.sentence(word)


def would_decide(made: Decision) -> str:
    """Return the size of a new group that would decide, as a clause; empty without spread."""
    if made.lifetimes_for_90_percent is None:
        return "a decision is not within reach of 1,000 lifetimes" if made.sd else ""
    group = f"a new group of {plural(made.lifetimes_for_90_percent, 'lifetime')}"
    return f"{group} would decide it with a 90 % chance if the true effect equals the estimate"


def sentence(one: Difference, system: str, baseline: str) -> str:
    """Return the sentence of a comparison about one metric."""
    name = one.metric.replace("_", " ")
    if one.difference is None:
        return f"{name}: not compared ({one.why or 'no values'})."
    ratio = one.scale == "ratio"
    found = f"{'ratio' if ratio else 'difference'} {number(one.difference, one.width)}"
    spread = "" if one.low is None else f", {one.level:.0%} interval {interval(one.low, one.high, ' to ')}"
    without = f"; {one.why}" if one.why else ""
    if one.word is None:
        return f"{name}: {found}{spread}{without or '; exploratory, not tested'}."
    over = f" after Holm over {plural(one.family, 'metric')}" if one.family > 1 else ""
    tested = "" if one.p_holm is None else f"; {p_words(one.p_holm)}{over}"
    side = "better" if one.ahead > 0 else "worse"
    by = f"by a factor of {_factor(one)}" if ratio else f"by {number(abs(one.difference), one.width)}"
    # What was just said is not said again; turned round, it belongs beside its interval.
    facts = f"{found}{spread}" if one.difference < (1 if ratio else 0) or not spread else spread.removeprefix(", ")
    if one.word in ("better", "worse"):
        size = "" if one.hedges_g is None else f"; g = {number(one.hedges_g)}"
        return f"{name}: {system} does {side} than {baseline} {by} ({facts}{tested}{size}{_shares(one)}{without})."
    if one.word in ("likely better", "likely worse"):
        return (
            f"{name}: {system} likely does {side} than {baseline} {by} ({p_words(one.p)} alone), not significant after "
            f"correcting for {plural(one.family, 'metric')} ({facts}{tested}{without})."
        )
    given = plural(one.n, "pair") if one.paired else f"{one.n} against {plural(one.baseline_n, 'lifetime')}"
    facts = f"{given}: {found}{spread}{tested}{without}"
    return f"{name}: no significant difference between {system} and {baseline} ({facts})."


def _factor(one: Difference) -> str:
    """Return the ratio, or its inverse with digits in proportion."""
    assert one.difference is not None
    factor = one.difference if one.difference >= 1 or one.difference <= 0 else 1 / one.difference
    return number(factor, one.width and one.width * factor / one.difference)


def _shares(one: Difference) -> str:
    """Return how often the system did better, with a remark if that contradicts the mean."""
    if one.improvement is None:
        return ""
    said = f"; better in {one.improvement:.0%} of {plural(one.n, 'pair') if one.paired else 'match-ups'}"
    against = not math.isclose(one.improvement, 0.5) and (one.improvement > 0.5) != (one.ahead > 0)
    return said + (", so a few lifetimes dominate the mean" if against else "")
