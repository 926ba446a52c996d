"""Results in notebooks: the answer in a sentence, then its table, and the rest folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.tables import Cell, Table
from perdure.text import interval, number, p_text, plural

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.log.model import Lifetime
    from perdure.metrics.score import Score
    from perdure.scenario.lint import LintReport
    from perdure.scenario.model import Scenario
    from perdure.scenario.syllabus import Syllabus
    from perdure.stats.model import Estimate, Group
    from perdure.stats.plan import Plan
    from perdure.stats.systems import Comparisons
    from perdure.verbs.lint import ProtocolLint
    from perdure.verbs.run import Evaluation


_MOST = 200
"""Rows of a table; `.table()` has them all."""
_MORE_METRICS = ("metric", "mean", "interval", "n")


def shown(result: Any) -> str:
    """Return the result as HTML without scripts and styles; text from logs is escaped."""
    made = next((_SHOWN[one.__name__] for one in type(result).__mro__ if one.__name__ in _SHOWN), _plain)
    return f"<div>{''.join(made(result))}</div>"


def _survey(found: Survey) -> Iterator[str]:
    from perdure.stats.groups import groups

    try:
        made = groups(found)
        for group in made:
            yield from _group(group, made)
    except PerdureError as problem:
        yield _line(str(problem))
    for path, why in found.left_out:
        yield _line(f"left out {why if path in why else f'{path}: {why}'}")
    yield _folded(f"{plural(len(found), 'lifetime')}, one by one", _frame(found.table()))


def _score(one: Score) -> Iterator[str]:
    """Yield one lifetime as a group of one."""
    from perdure.gather.model import ScoredLifetime, Survey
    from perdure.metrics.declare import METRICS
    from perdure.stats.groups import alone

    known = {name: METRICS.get(name) for name in one.metrics if name in METRICS}
    yield from _group(alone(Survey((ScoredLifetime(one),), (), {}, one.preset, known), one))


def _group(group: Group, groups: Sequence[Group] = ()) -> Iterator[str]:
    from perdure.stats.answer import answer, asked, title

    yield f"<p><strong>{escape(title(group, groups))}</strong>{_break(answer(group))}</p>"
    questions = asked(group)
    rows = [
        (question if not at else "", *_estimate(one), one.word or one.verdict or "", _p(one))
        for question, some in questions.items()
        for at, one in enumerate(some)
    ]
    if rows:
        yield _table(("question", "metric", "mean", "interval", "verdict", "p"), rows)
    first = {one.metric for some in questions.values() for one in some}
    more = [(*_estimate(one), one.n) for one in group.estimates.values() if one.n and one.metric not in first]
    if more:
        yield _folded(plural(len(more), "more metric"), _table(_MORE_METRICS, more))
    absent = [(one.metric, one.lacking) for one in group.estimates.values() if not one.n]
    if absent:
        yield _folded(f"{len(absent)} without a value", _table(("metric", "why"), absent))


def _estimate(one: Estimate) -> tuple[str, str, str]:
    spread = "" if one.low is None else interval(one.low, one.high)
    return one.metric.replace("_", " "), number(one.mean, one.width), spread


def _p(one: Estimate) -> str:
    return p_text(one.p) if one.verdict and one.p is not None else ""


def _comparisons(found: Comparisons) -> Iterator[str]:
    from perdure.reports.tables import comparison, comparison_sentences

    for one in found.comparisons:
        where = f" · {one.scenario_type}" if one.scenario_type else ""
        lines = _break(*comparison_sentences(one))
        yield f"<p><strong>{escape(f'{one.system} against {one.baseline}{where}')}</strong>{lines}</p>"
        table = comparison(one).filled()
        yield _folded("The numbers", table.to_html() + _line(table.note))
    for note in found.notes:
        yield _line(note)
    yield _folded("As one table", _frame(found.table()))


def _evaluation(found: Evaluation) -> Iterator[str]:
    for group in found.groups:
        yield from _group(group)
    if not found.groups:
        yield _line(repr(found), strong=True)
    for name, why in found.failed.items():
        yield _line(f"failed {name}: {why}")
    yield _folded("Lifetimes, experts and twins, one by one", _frame(found.table()))


def _plan(made: Plan) -> Iterator[str]:
    planned = {name: one.lifetimes for name, one in made.metrics.items() if one.lifetimes is not None}
    whose = "the pilot's spread" if made.pilot else "the spread in nine of ten kinds of lives studied"
    for name, count in planned.items():
        yield _line(f"{name.replace('_', ' ')} needs {plural(count, 'lifetime')}, by {whose}.", strong=True)
    if not made.metrics:
        exact = "no number suffices" if made.exact is None else f"{made.exact} for the test that decides"
        effect = "1 standard deviation" if made.k == 1 else f"{made.k:g} standard deviations"
        yield _line(
            f"An effect of {effect} needs {plural(made.rule, 'lifetime')} by the rule, {exact} (α = {made.alpha:g}, "
            f"β = {made.beta:g}); the power of {plural(made.power_at.lifetimes, 'lifetime')} is "
            f"{100 * made.power_at.power:.0f} %.",
            strong=True,
        )
    table = _frame(made.table())
    yield table if made.metrics else _folded("Power by lifetimes", table)
    yield from map(_line, made.notes)


def _lint(found: LintReport) -> Iterator[str]:
    answered = [(name, one.sites, ", ".join(one.keys)) for name, one in found.metrics.items() if one.sites]
    cannot = [(name, one.why or "") for name, one in found.metrics.items() if not one.sites]
    yield _line(
        f"{found.syllabus.scenario.name}: {'valid' if found.ok else 'not valid'}, answers {len(answered)} of "
        f"{plural(len(found.metrics), 'metric')}.",
        strong=True,
    )
    if found.problems:
        rows = [(one.level, one.where, one.what, one.fix) for one in found.problems]
        yield _table(("level", "where", "what", "what to do"), rows)
    if answered:
        yield _folded(f"{plural(len(answered), 'metric')} it answers", _table(("metric", "values", "of"), answered))
    if cannot:
        yield _folded(f"{len(cannot)} it cannot answer", _table(("metric", "why"), cannot))
    yield from _scenario(found.syllabus.scenario)


def _lint_protocol(found: ProtocolLint) -> Iterator[str]:
    yield _line(f"experts: {found.few_experts}" if found.few_experts else "")
    for one in found:
        yield from _lint(one)


def _lifetime(one: Lifetime) -> Iterator[str]:
    yield _line(repr(one), strong=True)
    yield from map(_line, one.notes)
    yield _folded("Its records", _frame(one.experiences))


def _scenario(scenario: Scenario) -> Iterator[str]:
    yield _line(f"{scenario.name}: {scenario.counted}", strong=True)
    rows = [
        (at, block.mode, block.task, "" if block.length is None else block.length)
        for at, block in enumerate(scenario.blocks)
    ]
    yield _folded("Block by block", _table(("block", "mode", "task", "experiences"), rows))


def _syllabus(syllabus: Syllabus) -> Iterator[str]:
    yield from _scenario(syllabus.scenario)


def _plain(result: Any) -> Iterator[str]:
    yield _line(repr(result), strong=True)
    yield _frame(result.table())


_SHOWN: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "Comparisons": _comparisons,
    "Evaluation": _evaluation,
    "Group": _group,
    "Lifetime": _lifetime,
    "LintReport": _lint,
    "Plan": _plan,
    "ProtocolLint": _lint_protocol,
    "Scenario": _scenario,
    "Score": _score,
    "Survey": _survey,
    "Syllabus": _syllabus,
}
"""By the name of the class, so that showing one result imports no other."""


# --- elements -------------------------------------------------------------------------------------


def _line(text: str, *, strong: bool = False) -> str:
    return f"<p>{f'<strong>{escape(text)}</strong>' if strong else escape(text)}</p>" if text else ""


def _break(*lines: str) -> str:
    return "".join(f"<br>{escape(line)}" for line in lines if line)


def _folded(what: str, inner: str) -> str:
    return f"<details><summary>{escape(what)}</summary>{inner}</details>"


def _frame(frame: pl.DataFrame) -> str:
    return _table(frame.columns, frame.head(_MOST).rows(), frame.height)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]], count: int = 0) -> str:
    """Return the first rows of a table, and the number of others."""
    shown = [[_cell(cell) for cell in row] for row in rows[:_MOST]]
    more = _line(f"{max(count, len(rows)) - _MOST} more rows; .table() has them all")
    return Table.of(names, shown).to_html() + (more if max(count, len(rows)) > _MOST else "")


def _cell(cell: Any) -> Cell:
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
