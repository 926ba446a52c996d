"""Results in notebooks: the answer in a sentence, then its table, and the rest folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.tables import Table
from perdure.text import interval, number, p_text, plural

if TYPE_CHECKING:
    from perdure.evaluation import Evaluation, ProtocolLint
    from perdure.gather.model import Survey
    from perdure.log.model import Lifetime
    from perdure.metrics.score import Score
    from perdure.scenario.lint import LintReport
    from perdure.scenario.model import Scenario
    from perdure.stats.model import Estimate, Group
    from perdure.stats.plan import Plan
    from perdure.stats.systems import Comparisons


_MOST_ROWS = 200
"""Rows of a table; `.table()` has them all."""


def result_html(result: Any) -> str:
    """Return the result as HTML without scripts and styles; text from logs is escaped."""
    show = next((_RENDERERS[cls.__name__] for cls in type(result).__mro__ if cls.__name__ in _RENDERERS), _any)
    return f"<div>{''.join(show(result))}</div>"


def _survey(survey: Survey) -> Iterator[str]:
    from perdure.stats.groups import groups

    try:
        survey_groups = groups(survey)
        for group in survey_groups:
            yield from _group(group, survey_groups)
    except PerdureError as problem:
        yield _line(str(problem))
    for path, why in survey.left_out:
        yield _line(f"left out {why if path in why else f'{path}: {why}'}")
    yield _details(f"{plural(len(survey), 'lifetime')}, one by one", _frame(survey.table()))


def _score(score: Score) -> Iterator[str]:
    """Yield one lifetime as a group of one."""
    from perdure.gather.model import ScoredLifetime, Survey
    from perdure.metrics.declare import METRICS
    from perdure.stats.groups import alone

    known = {name: METRICS.get(name) for name in score.metrics if name in METRICS}
    yield from _group(alone(Survey((ScoredLifetime(score),), (), {}, score.preset, known), score))


def _group(group: Group, groups: Sequence[Group] = ()) -> Iterator[str]:
    from perdure.stats.answer import answer, asked, title

    yield _title(title(group, groups), answer(group))
    questions = asked(group)
    rows = [
        (
            "" if index else question,
            *_estimate_cells(estimate),
            estimate.word or estimate.verdict or "",
            p_text(estimate.p) if estimate.verdict and estimate.p is not None else "",
        )
        for question, estimates in questions.items()
        for index, estimate in enumerate(estimates)
    ]
    if rows:
        yield _table(("question", "metric", "mean", "interval", "verdict", "p"), rows)
    answered = {estimate.metric for estimates in questions.values() for estimate in estimates}
    more = [
        (*_estimate_cells(estimate), estimate.n)
        for estimate in group.estimates.values()
        if estimate.n and estimate.metric not in answered
    ]
    if more:
        yield _details(plural(len(more), "more metric"), _table(("metric", "mean", "interval", "n"), more))
    absent = [(estimate.metric, estimate.lacking) for estimate in group.estimates.values() if not estimate.n]
    if absent:
        yield _details(f"{len(absent)} without a value", _table(("metric", "why"), absent))


def _estimate_cells(estimate: Estimate) -> tuple[str, str, str]:
    spread = "" if estimate.low is None else interval(estimate.low, estimate.high)
    return estimate.metric.replace("_", " "), number(estimate.mean, estimate.width), spread


def _comparisons(comparisons: Comparisons) -> Iterator[str]:
    from perdure.reports.tables import comparison, comparison_sentences

    for compared in comparisons.comparisons:
        scenario = f" · {compared.scenario_type}" if compared.scenario_type else ""
        yield _title(f"{compared.system} against {compared.baseline}{scenario}", *comparison_sentences(compared))
        table = comparison(compared).drop_empty_columns()
        yield _details("The numbers", table.to_html() + _line(table.note))
    yield from map(_line, comparisons.notes)
    yield _details("As one table", _frame(comparisons.table()))


def _evaluation(evaluation: Evaluation) -> Iterator[str]:
    for group in evaluation.groups:
        yield from _group(group)
    if not evaluation.groups:
        yield _line(repr(evaluation), strong=True)
    for name, why in evaluation.failed.items():
        yield _line(f"failed {name}: {why}")
    yield _details("Lifetimes, experts and twins, one by one", _frame(evaluation.table()))


def _plan(plan: Plan) -> Iterator[str]:
    spread = "the pilot's spread" if plan.pilot else "the spread in nine of ten kinds of lives studied"
    for name, metric in plan.metrics.items():
        if metric.lifetimes is not None:
            needed = f"{name.replace('_', ' ')} needs {plural(metric.lifetimes, 'lifetime')}"
            yield _line(f"{needed}, by {spread}.", strong=True)
    table = _frame(plan.table())
    if plan.metrics:
        yield table
    else:
        exact = "no number suffices" if plan.exact is None else f"{plan.exact} for the test that decides"
        effect = "1 standard deviation" if plan.k == 1 else f"{plan.k:g} standard deviations"
        yield _line(
            f"An effect of {effect} needs {plural(plan.rule, 'lifetime')} by the rule, {exact} (α = {plan.alpha:g}, "
            f"β = {plan.beta:g}); the power of {plural(plan.power_at.lifetimes, 'lifetime')} is "
            f"{100 * plan.power_at.power:.0f} %.",
            strong=True,
        )
        yield _details("Power by lifetimes", table)
    yield from map(_line, plan.notes)


def _lint(report: LintReport) -> Iterator[str]:
    scenario = report.syllabus.scenario
    answered = [(name, item.sites, ", ".join(item.keys)) for name, item in report.metrics.items() if item.sites]
    cannot = [(name, item.why or "") for name, item in report.metrics.items() if not item.sites]
    answers = f"answers {len(answered)} of {plural(len(report.metrics), 'metric')}"
    yield _line(f"{scenario.name}: {'valid' if report.ok else 'not valid'}, {answers}.", strong=True)
    if report.problems:
        rows = [(problem.level, problem.where, problem.what, problem.fix) for problem in report.problems]
        yield _table(("level", "where", "what", "what to do"), rows)
    if answered:
        yield _details(f"{plural(len(answered), 'metric')} it answers", _table(("metric", "values", "of"), answered))
    if cannot:
        yield _details(f"{len(cannot)} it cannot answer", _table(("metric", "why"), cannot))
    yield from _scenario(scenario)


def _lint_protocol(lint: ProtocolLint) -> Iterator[str]:
    yield _line(f"experts: {lint.few_experts}" if lint.few_experts else "")
    for report in lint:
        yield from _lint(report)


def _lifetime(lifetime: Lifetime) -> Iterator[str]:
    yield _line(repr(lifetime), strong=True)
    yield from map(_line, lifetime.notes)
    yield _details("Its records", _frame(lifetime.experiences))


def _scenario(scenario: Scenario) -> Iterator[str]:
    yield _line(f"{scenario.name}: {scenario.counted}", strong=True)
    rows = [
        (index, block.mode, block.task, "" if block.length is None else block.length)
        for index, block in enumerate(scenario.blocks)
    ]
    yield _details("Block by block", _table(("block", "mode", "task", "experiences"), rows))


def _any(result: Any) -> Iterator[str]:
    yield _line(repr(result), strong=True)
    yield _frame(result.table())


_RENDERERS: Mapping[str, Callable[[Any], Iterator[str]]] = {
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
    "Syllabus": lambda syllabus: _scenario(syllabus.scenario),
}
"""By the name of the class, so that showing one result imports no other."""


# --- elements -------------------------------------------------------------------------------------


def _line(text: str, *, strong: bool = False) -> str:
    return f"<p>{f'<strong>{escape(text)}</strong>' if strong else escape(text)}</p>" if text else ""


def _title(title: str, *lines: str) -> str:
    breaks = "".join(f"<br>{escape(line)}" for line in lines if line)
    return f"<p><strong>{escape(title)}</strong>{breaks}</p>"


def _details(title: str, inner: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def _frame(frame: pl.DataFrame) -> str:
    return _table(frame.columns, frame.head(_MOST_ROWS).rows(), frame.height)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]], count: int = 0) -> str:
    """Return the first rows of a table, and the number of the others."""
    cells = [
        [cell if cell is None or isinstance(cell, str | int | float) else str(cell) for cell in row]
        for row in rows[:_MOST_ROWS]
    ]
    more = max(count, len(rows)) - _MOST_ROWS
    return Table.of(names, cells).to_html() + _line(f"{more} more rows; .table() has them all" if more > 0 else "")
