"""Results in words: the word of a verdict, its meaning, and one sentence per comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perdure.metrics import METRICS
from perdure.metrics.declare import Threshold, VerdictWords
from perdure.metrics.presets import PRESETS
from perdure.settings.presets import STANDARD
from perdure.text import interval, join_words, number, p_words, percent, plural

if TYPE_CHECKING:
    from perdure.stats.compare import Comparison, Difference
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
    return float(1 - 0.05 ** (1 / n))


def with_collapse_share(verdict: str, n: int, learner: str = "") -> str:
    """Return a favourable verdict with the share of lifetimes that may collapse; few lifetimes have the share first."""
    lifetimes = f"{n} lifetimes of {learner}" if learner else f"{n} lifetimes"
    caution = f"{lifetimes} cannot rule out that up to {percent(collapse_share(n))} collapse"
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


def _more_would_decide(difference: Difference) -> str:
    """Return the number of lifetimes that would decide an undecided difference, as a clause; empty without a test."""
    from perdure.stats.decide import FEWEST

    if min(difference.n, difference.baseline_n) < FEWEST:
        return f"; {FEWEST} lifetimes of each are needed"
    if difference.p_holm is None:
        return ""
    count = difference.lifetimes_for_90_percent
    if count is None:
        return "; a decision is not within reach of 1,000 lifetimes of each"
    each = f"{count} pairs" if difference.paired else f"{count} lifetimes of each"
    return f"; {each} would decide it with a 90 % chance if the true difference equals the estimate"


def sentence(difference: Difference, system: str, baseline: str) -> str:
    """Return the sentence of a comparison about one metric."""
    name = difference.metric.replace("_", " ")
    if difference.difference is None:
        return f"{name}: {difference.verdict or 'not compared'} ({difference.why or 'no values'})."
    kind = "ratio" if difference.scale == "ratio" else "difference"
    facts = [f"{kind} {number(difference.difference, difference.width)}"]
    if difference.low is not None:
        alone = " for this metric alone" if difference.family > 1 else ""
        facts.append(f"{percent(difference.level)} interval {interval(difference.low, difference.high, ' to ')}{alone}")
    facts.append(_tested(difference))
    if difference.verdict in ("better", "worse"):
        size = "" if difference.hedges_g is None else f"g = {number(difference.hedges_g)}"
        facts += [size, _shares(difference), difference.why or "", *_flags(difference)]
        by = f"by a factor of {_factor(difference)}" if kind == "ratio" else f"by {_size(difference)}"
        does = "does " if difference.word in ("better", "worse") else ""
        result = f"{system} {does}{difference.word} than {baseline}, {by}"
    elif difference.verdict in ("no worse", "no better", "as good"):
        facts += [_ruled_out(difference), difference.why or "", *_flags(difference)]
        result = f"{system} is {_no_worse_than(difference, baseline)}{_likely(difference)}"
    elif difference.verdict == "undecided":
        counts = f"{difference.n} and {plural(difference.baseline_n, 'lifetime')}"
        facts += [plural(difference.n, "pair") if difference.paired else counts, difference.why or ""]
        facts += _flags(difference)
        result = f"no difference shown between {system} and {baseline}{_likely(difference)}"
    else:
        result, *facts = (*facts, difference.why or "exploratory, not tested")
        return f"{name}: {'; '.join(filter(None, (result, *facts)))}."
    return f"{name}: {result} ({'; '.join(filter(None, facts))})."


def lead(comparison: Comparison) -> tuple[str, str]:
    """Return which system ends up better and by how much; and the facts behind it with the other metrics that differ.

    Both are empty without a value of the level that the systems reach.
    """
    reached, system, baseline = comparison.level_reached, comparison.system, comparison.baseline
    if reached is None:
        return "", ""
    question = f"Which one ends up better, {system} or {baseline}"
    if reached.difference is None:
        return f"{question}, is undecided", f": {reached.why}.{_others(comparison, reached)}"
    ahead = reached.ahead >= 0
    first, second = (system, baseline) if ahead else (baseline, system)
    size = number(abs(reached.difference), reached.width)
    by = f"{size}{comparison.unit.removesuffix('s') if size == '1' else comparison.unit}"
    low, high = reached.low, reached.high
    # With a margin the sentence is about the system, else about the one that is ahead.
    of_system = reached.verdict in ("no worse", "no better", "as good")
    if low is not None and high is not None and not ahead and not of_system:
        low, high = -high, -low
    spread = "" if low is None or low == high else f"{percent(reached.level)} interval {interval(low, high, ' to ')}"
    facts = "; ".join(part for part in (spread, _tested(reached), reached.why) if part)
    facts = f" ({facts})" if facts else ""
    if reached.verdict in ("undecided", None):
        leader = f"{first} is ahead by {by}" if reached.difference else "both are equal"
        likely = _likely(replace(reached, likely="better")) if reached.likely else ""
        word, more = ("undecided", _more_would_decide(reached)) if reached.verdict else ("not tested", "")
        return f"{question}, is {word}", f": {leader}{likely}{facts}{more}.{_others(comparison, reached)}"
    favoured = _favoured(comparison, reached)
    before, _, after = _with_caution("|", comparison, reached, favoured).partition("|")
    others = _others(comparison, reached, by, favoured)
    if reached.verdict in ("better", "worse"):
        return f"{before}{first} ends {by} better than {second}", f"{facts}{after}.{others}"
    answer = f"{before}{system} ends up {_no_worse_than(reached, baseline)}"
    return answer, f": {_ruled_out(reached)}{_likely(reached)}{facts}{after}.{others}"


def _favoured(comparison: Comparison, reached: Difference) -> str:
    """Return the system that the verdict favours; if it favours both, the one with fewer lifetimes."""
    if reached.verdict == "as good":
        return comparison.system if reached.n <= reached.baseline_n else comparison.baseline
    return comparison.system if reached.verdict in ("better", "no worse") else comparison.baseline


def _with_caution(text: str, comparison: Comparison, reached: Difference, favoured: str) -> str:
    """Return favourable words with the share of the favoured system's lifetimes that may collapse."""
    counted = comparison.pairing if reached.difference is None else reached
    return with_collapse_share(text, counted.n if favoured == comparison.system else counted.baseline_n, favoured)


def _others(comparison: Comparison, reached: Difference, by: str = "", cautioned: str = "") -> str:
    """Return the other metrics in which the systems differ, seen from the system that ends up better.

    Favourable words come with the share of lifetimes that may collapse, except those of a system `cautioned` before.
    """
    from perdure.stats.compare import compared_as

    ahead = reached.ahead >= 0
    first, second = comparison.system, comparison.baseline
    first, second = (first, second) if ahead else (second, first)
    better: list[str] = []
    worse: list[str] = []
    kept: list[str] = []  # a learner keeps more if it has less to lose
    for name, difference in comparison.tested.items():
        if difference is reached or difference.verdict not in ("better", "worse"):
            continue
        words = compared_as(name)
        if (difference.ahead > 0) is ahead:
            better.append(words.better)
        elif reached.verdict in ("better", "worse") and words.of_change:
            kept.append(words.better)
        else:
            worse.append(words.worse)
    parts = [join_words(better)] if better else []
    parts += [f"but {join_words(worse)}" if better else join_words(worse)] if worse else []
    told = f"{first} {', '.join(parts)}" if parts else ""
    if better and first != cautioned:
        told = _with_caution(told, comparison, reached, first)
    answer = f" {told}." if told else ""
    return answer + (f" {second} {join_words(kept)}, but of less: it ends {by} worse." if kept else "")


def _flags(difference: Difference) -> list[str]:
    lifetimes = difference.n + difference.baseline_n
    return [f"{found.flag}: {found.n} of {plural(lifetimes, 'lifetime')}" for found in difference.flags]


def _no_worse_than(difference: Difference, baseline: str) -> str:
    return f"{difference.word}{'' if difference.verdict == 'as good' else ' than'} {baseline}"


def _size(difference: Difference) -> str:
    return number(abs(difference.difference or 0), difference.width)


def _tested(difference: Difference) -> str:
    if difference.p_holm is None:
        return ""
    over = f" after Holm over {plural(difference.family, 'metric')}" if difference.family > 1 else ""
    return f"{p_words(difference.p_holm)}{over}"


def _likely(difference: Difference) -> str:
    if difference.likely is None:
        return ""
    return (
        f", likely {difference.likely} ({p_words(difference.p)} alone), "
        f"not shown after correcting for {plural(difference.family, 'metric')}"
    )


def _ruled_out(difference: Difference) -> str:
    """Return the difference that a margin rules out, with the interval that is compared with it."""
    ratio = difference.scale == "ratio"
    margin = f"a factor of {number(difference.margin)}" if ratio else number(difference.margin)
    size = {"no worse": "a loss", "no better": "a lead"}.get(difference.verdict or "", "a difference")
    ends = interval(difference.margin_low, difference.margin_high, " to ")
    level = f"{100 * (difference.margin_level or 0):.3g} %"
    return f"{size} of {margin} or more is ruled out ({level} interval {ends})"


def _factor(difference: Difference) -> str:
    """Return the ratio, or its inverse with digits in proportion."""
    ratio = difference.difference or 0.0
    factor = ratio if ratio >= 1 or ratio <= 0 else 1 / ratio
    return number(factor, difference.width and difference.width * factor / ratio)


def _shares(difference: Difference) -> str:
    """Return how often the system did better, with a remark if that contradicts the mean."""
    share = difference.improvement
    if share is None:
        return ""
    better = f"better in {percent(share)} of {plural(difference.n, 'pair') if difference.paired else 'match-ups'}"
    against = not math.isclose(share, 0.5) and (share > 0.5) != (difference.ahead > 0)
    return better + (", so a few lifetimes dominate the mean" if against else "")
