"""What an accuracy matrix says as a whole: LA, BWT and AA read together, and which values are called good.

After the tables of S002. It decides nothing: whether a learner keeps what it learns is `decide`'s to say, and
where it says so, this says the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import cast

from perdure.log.accuracy_matrix import LIMITS, Unit
from perdure.metrics import METRICS
from perdure.metrics.engine.metric import Bar, Metric
from perdure.metrics.engine.score import Score
from perdure.metrics.matrix.common import average_accuracy, bwt, learning_accuracy
from perdure.stats.estimate import estimate
from perdure.stats.model import Estimate, Group
from perdure.text import number, plural

_ROWS: Mapping[tuple[str, str, str], str] = {
    ("high", "about 0", "high"): "a good continual learner",
    ("high", "very negative", "low"): "severe forgetting",
    ("low", "about 0", "low"): "poor learning capability",
    ("high", "positive", "high"): "beneficial transfer",
}
"""LA, BWT and AA → how S002 reads them together."""
_DECIDED = {"gains": "positive", "keeps": "about 0", "forgets": "very negative"}
_SAYS = {
    "high": "each task is learned well",
    "low": "tasks are not learned well",
    "positive": "later tasks improve what was learned",
    "about 0": "what was learned is kept",
    "very negative": "what was learned is lost while later tasks are learned",
    "open": "whether what was learned is kept is undecided",
}


def leading(group: Group) -> str:
    """AA, LA, BWT and FM of a group of matrices in one line: how well it does, and what it keeps; or nothing."""
    led = (one for one in METRICS if one.headline == "matrix" and one.question in ("does", "keeps"))
    known = [(one.initials, found) for one in led if (found := group.estimates.get(one.name)) is not None]
    said = [f"{initials} {number(one.mean, one.width)}" for initials, one in known if one.mean is not None]
    unit = {"percent": " (%)", "fraction": ""}.get(group.unit or "", f" ({group.unit})")
    return f"{', '.join(said)}{unit}" if said else ""


def reading(group: Group, declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """What a group of accuracy matrices says as a whole, in sentences; nothing where values are no accuracies."""
    return tuple(_sentences(group.estimates, declared, group.unit))


def reading_of_one(score: Score, declared: Mapping[str, Metric], bars: Mapping[str, Bar]) -> tuple[str, ...]:
    """The same of a single matrix."""
    made = {
        name: estimate((score,), name, bars[name])
        for name, one in declared.items()
        if one.good and name in score.metrics
    }
    return tuple(_sentences(made, declared, score.identity.unit))


def _sentences(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], unit: str | None) -> Iterator[str]:
    whole = LIMITS.get(cast("Unit", unit), math.inf)
    if not math.isfinite(whole):
        return
    yield from _together(estimates, declared, whole)
    yield from _good(estimates, declared, whole)


def _together(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], whole: float) -> Iterator[str]:
    found = [estimates.get(one.name) for one in (learning_accuracy, bwt, average_accuracy)]
    known = [one for one in found if one is not None and one.mean is not None]
    if len(known) < len(found) or not all(one.metric in declared for one in known):
        return
    learned, kept, final = known
    high = [_is_good(one, declared[one.metric], whole) for one in (learned, final)]
    row = ("high" if high[0] else "low", _change(kept, whole), "high" if high[1] else "low")
    low = {one.metric for one, good in zip((learned, final), high, strict=True) if not good}
    goods = {name: f"; good is {one.good.words}" for name, one in declared.items() if one.good and name in low}
    shown = [
        f"{declared[one.metric].initials} {number(one.mean, one.width)}{goods.get(one.metric, '')}" for one in known
    ]
    said = f"{_SAYS[row[0]]} ({shown[0]}), {_SAYS[row[1]]} ({shown[1]}), and the end is {row[2]} ({shown[2]})"
    called = _ROWS.get(row, "no common pattern")
    alone = "" if kept.word else f"; by the values of {plural(kept.n, 'lifetime')} alone"
    yield f"Read together: {called}: {said}{alone}."


def _change(one: Estimate, whole: float) -> str:
    """BWT in the table's words: as it was decided or, where that takes more lifetimes, by its margin either way."""
    assert one.mean is not None
    if one.word:
        return _DECIDED.get(one.word, "open")
    margin = one.bar.margin if one.bar.margin_given else one.bar.margin * whole / 100
    return "positive" if one.mean > margin else "about 0" if one.mean >= -margin else "very negative"


def _is_good(one: Estimate, metric: Metric, whole: float) -> bool | None:
    """Whether a mean is beyond what a document calls good; None where that has no number."""
    if one.mean is None or metric.good is None or metric.good.above is None:
        return None
    return one.mean > metric.good.above * whole / 100


def _good(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], whole: float) -> Iterator[str]:
    parts: dict[bool, list[str]] = {True: [], False: []}
    for name, one in estimates.items():
        metric = declared.get(name)
        if metric is None or metric.good is None or one.mean is None:
            continue
        change = _change(one, whole) if metric.words and metric.words.of_change else None
        good = _is_good(one, metric, whole) if change is None else change in ("about 0", "positive")
        if good is not None and change != "open":
            parts[good].append(f"{name} {number(one.mean, one.width)} ({metric.good.words})")
    said = [f"{word}: {', '.join(parts[good])}" for good, word in ((True, "Good"), (False, "Not good")) if parts[good]]
    if said:
        yield f"{'. '.join(said)}. So S002 calls them, which decides nothing."
