"""The report as one HTML file that opens offline: the answer on one screen, details folded below.

Figures are inline SVG: they need no script, print as lines, and follow the page's dark mode. The script adds tooltips.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perdure import __version__
from perdure.gather.model import ScoredLifetime
from perdure.reports import tables
from perdure.reports.figures.declare import task_looks
from perdure.reports.formats.pictures import Picture, lifetime_pictures, opening_figures, sections
from perdure.reports.grid import grids
from perdure.reports.model import Report, given_settings
from perdure.reports.palette import dark_colours
from perdure.stats.answer import answers, shared_answers
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Group
from perdure.stats.sentences import lead
from perdure.text import join_words, number, plural

if TYPE_CHECKING:
    from jinja2 import Environment


_MOST_CHARACTERS = 6_000_000
"""Characters of the sections of single lifetimes together."""
_MOST_ANSWERED = 4
"""Learners that have an answer each; more are grouped by answer."""
_COLOURS = {"met": "good", "not met": "poor", "undecided": "open", None: "plain"}
_SECTIONS = (
    ("curves", "Curves by lifetime", "{lives}learning curves, evaluations, metrics and blocks of each"),
    ("matrices", "Forgetting and transfer", "forgetting by task; forward and backward transfer"),
    ("recovery", "Recovery", "how fast lost performance returns"),
    ("experts", "Against experts", "learning compared with single-task experts"),
    ("statistics", "Statistics in full", "{metrics}: intervals, tests, notes, comparisons"),
    ("scenario", "Scenario", "the order of learning and evaluation"),
    ("checklist", "Checklist", "recommended contents of a paper, and what is missing"),
    ("definitions", "Definitions", "the meaning and source of each number"),
    ("methods", "Statement of methods", "a paragraph to paste"),
    ("provenance", "Provenance", "versions, seeds, settings, how to repeat it"),
)


def html(report: Report, *, live: str | None = None, more_scripts: Sequence[str] = ()) -> str:
    """Return the whole page. While lifetimes still run, `live` states in words how many are done."""
    waits = live is not None and not report.data.lifetimes
    main, facts = ("", {"tasks": [], "tables": {}}) if waits else body(report, live=live)
    scripts = [template("report.js"), *more_scripts]
    return _render(
        "report.html.j2",
        report=report,
        body=main,
        facts=facts,
        policy=policy(scripts, live=live is not None),
        css=template("report.css") + _dark_css() + (template("live.css") if live is not None else ""),
        scripts=scripts,
        subtitle=_subtitle(report) if live is None else "",
        version=__version__,
        live=live is not None,
    )


def body(report: Report, *, live: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the main part, and the data of its script: tasks, and tables of lifetimes."""
    data = report.data
    learners, looks = answers(data.groups), task_looks(data)
    # Until a lifetime has ended, the live page shows the running ones itself.
    ended = live is None or any(group.n for group in data.groups)
    figures, opening = sections(data), opening_figures(data) if ended else None
    # These figures name no tasks themselves.
    unnamed = [*([opening] if opening else []), *figures.get("recovery", ()), *figures.get("experts", ())]
    coloured = any("data-task" in picture.svg for row in unnamed for picture in row.figures)
    pages, page_tables = _pages(report)
    # The live page has its own count.
    lives = "" if live else f"{plural(len(data.lifetimes), 'lifetime')}: "
    counts = {"lives": lives, "metrics": plural(len(report.valued), "metric")}
    always = {"curves", "statistics", "checklist", "definitions", "methods", "provenance"}
    return _render(
        "main.html.j2",
        report=report,
        answers=learners if len(learners) <= _MOST_ANSWERED else (),
        alike=shared_answers(learners) if len(learners) > _MOST_ANSWERED else (),
        leads=report.leads if len(data.groups) == 1 else (),
        colours=_COLOURS,
        better=[(comparison, lead(comparison)) for comparison in report.comparisons if comparison.answer],
        grids=grids(data.groups, data.survey.metrics, report.comparisons),
        unmeasured=_unmeasured_text(report),
        opening=opening if opening and opening.figures else None,
        legend=_legend(opening.figures if opening else ()),
        tasks=[(task, look.colour, look.shade) for task, look in looks.items()] if coloured else [],
        so_far=live or "",
        warnings=_warnings(data, runs=live is not None),
        sections=[
            (name, title, description.format(**counts))
            for name, title, description in _SECTIONS
            if name in always or name in figures
        ],
        shown=figures,
        groups=[
            {
                "table": tables.metrics(data, group),
                "more": tables.metrics(data, group, judged=False),
                "missing": tables.metrics_without_value(group.estimates),
            }
            for group in data.groups
        ],
        tallied=tables.tally_tables(report.tally) if report.tally else (),
        capabilities=tables.capabilities(data),
        comparisons=[(tables.comparison(item), tables.comparison_sentences(item)) for item in report.comparisons],
        lifetimes=tables.lifetimes(data),
        costs=tables.costs(data),
        pages=pages,
        unpaged=len(data.lifetimes) - len(pages),
        left_out=data.survey.left_out,
        definitions=tables.definitions(data, report.valued),
        methods=report.methods,
        provenance=_provenance(report),
        settings=json.dumps(report.provenance.get("settings", {}), ensure_ascii=False, indent=1, default=str),
        origins="\n".join(
            json.dumps(origin, ensure_ascii=False, default=str)
            for origin in _drop_repeats(report.provenance.get("lifetimes", []))
        ),
    ), {"tasks": list(looks), "tables": page_tables}


def policy(scripts: Sequence[str], *, live: bool = False) -> str:
    """Return a Content-Security-Policy: only these scripts run, and only a live page may reach its own server."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    connect = " connect-src 'self';" if live else ""
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:;"
        f"{connect} base-uri 'none'; form-action 'none'"
    )


def json_for_script(facts: Any) -> str:
    """Return JSON for a script element: no character in it can end the element or a line."""
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# --- parts ---------------------------------------------------------------------------------------


def _pages(report: Report) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return each lifetime's folded section and its tables, up to `_MOST_CHARACTERS`.

    Notes that all lifetimes have are listed once, with the statistics.
    """
    data, pages = report.data, list[dict[str, Any]]()
    page_tables: dict[str, Any] = {}
    room = _MOST_CHARACTERS
    for index, (life, picture) in enumerate(lifetime_pictures(data), 1):
        name = f"life-{index}"
        group = next((group for group in data.groups if group.n > 1 and life.id in group.lives), None)
        values = tables.values(life, data.survey.metrics, data.survey.bars, with_verdicts=group is None)
        page_tables[name] = [table.as_data() for table in (values, tables.blocks(life))]
        described = _description(life, group)
        if len(data.lifetimes) > 1:
            described["notes"] = [note for note in described["notes"] if note not in report.notes]
        pages.append({"name": name, "svg": picture.svg, "caption": picture.caption, **described})
        room -= len(picture.svg) + 30 * sum(len(table["rows"]) for table in page_tables[name])
        if room < 0:
            break
    return pages, page_tables


def _description(life: ScoredLifetime, group: Group | None) -> dict[str, Any]:
    """Return the name of a lifetime, its learner and seed, and notes.

    Metrics without a value in the whole group are listed with the group.
    """
    score = life.score
    ended = None if score.complete is not False else "did not reach its end"
    facts = [score.learner, None if score.seed is None else f"seed {score.seed}", ended]
    absent = {name for name, estimate in group.estimates.items() if not estimate.n} if group else set()
    missing = {
        measured.why: name
        for name, measured in score.metrics.items()
        if measured.value is None and measured.why and name not in absent
    }
    dropped = [f"{plural(count, 'row')} dropped: {why}" for why, count in score.dropped.items()]
    never = [f"never learned: {task}" for task in score.not_learned]
    reasons = [f"{why} (e.g. {name})" for why, name in list(missing.items())[:6]]
    return {
        "id": life.id,
        "about": " · ".join(filter(None, facts)),
        "notes": [*dropped, *never, *score.notes, *reasons],
    }


def _unmeasured_text(report: Report) -> str:
    """Return the headline metrics that no group has, with reasons."""
    data = report.data
    if not any(group.n for group in data.groups):
        return ""
    kind = "matrix" if all(group.unit for group in data.groups) else "log"
    missing: dict[str, list[str]] = {}
    for name, metric in data.survey.metrics.items():
        estimates = [group.estimates[name] for group in data.groups if name in group.estimates]
        if metric.headline == kind and estimates and all(estimate.mean is None for estimate in estimates):
            missing.setdefault(estimates[0].absent or "no value", []).append(name.replace("_", " "))
    texts = [f"{join_words(names)} ({why})" for why, names in missing.items()]
    return f"Not measured: {'; '.join(texts)}." if texts else ""


def _legend(pictures: Sequence[Picture]) -> str:
    """Return the legend of the figures on the first screen."""
    lines = dict.fromkeys(picture.legend for picture in pictures if picture.legend)
    if not lines:
        return ""
    scale = ["one scale"] if len(pictures) > 1 else []
    return " · ".join([*lines, "dots: evaluations, 95 % intervals", *scale])


def _warnings(data: GroupedSurvey, *, runs: bool = False) -> list[str]:
    """Return warnings about lifetimes that do not count."""
    warnings = [data.apart] if data.apart and data.groups else []
    for group in data.groups:
        if count := len(group.left_out):
            why = ("has not ended" if count == 1 else "have not ended") if runs else "did not reach the end"
            verb = "is" if count == 1 else "are"
            warnings.append(
                f"{group.group}: {plural(count, 'lifetime')} {why} and {verb} not counted{' yet' if runs else ''}."
            )
    if unread := len(data.survey.left_out):
        verb = "is" if unread == 1 else "are"
        warnings.append(f"{plural(unread, 'planned or given log')} {verb} missing or left out.")
    return warnings


def _dark_css() -> str:
    """Return the colours of tasks and groups in dark mode, as CSS."""
    rules = [f".c{shade}{{color:{colour}!important}}" for shade, colour in enumerate(dark_colours())]
    system, chosen = ':root:not([data-theme="light"]) ', ':root[data-theme="dark"] '
    return (
        f"@media screen and (prefers-color-scheme: dark){{{''.join(system + rule for rule in rules)}}}"
        f"@media screen{{{''.join(chosen + rule for rule in rules)}}}"
    )


def _subtitle(report: Report) -> str:
    data = report.data
    counts = {group.n for group in data.groups}
    each = (
        f"{plural(counts.pop(), 'lifetime')} in each of {len(data.groups)} groups"
        if len(counts) == 1 and len(data.groups) > 1
        else ""
    )
    measures = join_words(sorted({life.score.measure for life in data.lifetimes if life.score.measure}))
    written = str(report.provenance.get("written") or "").partition("T")[0]
    parts = (
        each or plural(len(data.lifetimes), "lifetime"),
        plural(len(data.tasks), "task") if data.tasks else "",
        f"measure: {measures}",
        _experts_text(data),
        f"preset {data.survey.preset}",
        f"written {written}" if written else "",
    )
    return " · ".join(filter(None, parts))


def _experts_text(data: GroupedSurvey) -> str:
    """Return the number of experts that metrics are relative to; empty if a score file does not name them."""
    measured = [
        one
        for score in data.survey.scores
        for name, one in score.metrics.items()
        if name in data.survey.metrics and data.survey.metrics[name].expert and one.value is not None
    ]
    names = {expert for one in measured for experts in one.experts.values() for expert in experts}
    return plural(len(names), "expert") if names else "" if measured else "no experts"


_PROVENANCE = {
    "protocol": "protocols",
    "versions": "sets of versions",
    "git": "states of the repository",
    "machine": "machines",
    "command": "commands",
}


def _provenance(report: Report) -> list[tuple[str, str]]:
    """Return facts that all lifetimes share, and the number of values of those that differ."""
    lives = report.provenance.get("lifetimes", [])
    facts = [
        ("perdure", str(report.provenance.get("perdure", ""))),
        ("preset", str(report.provenance.get("preset", ""))),
    ]
    if settings := given_settings(report):
        facts.append(("settings given", settings))
    for name, plural_name in _PROVENANCE.items():
        values = list(dict.fromkeys(_fact(name, life[name]) for life in lives if name in life))
        if values:
            facts.append((name, values[0] if len(values) == 1 else f"{len(values)} {plural_name} (listed below)"))
    seeds = [str(life["seed"]) for life in lives if life.get("seed") is not None]
    facts.append(("seeds", ", ".join(dict.fromkeys(seeds)) or "not stated"))
    return facts


def _fact(name: str, value: Any) -> str:
    """Return a fact as text. Lifetimes of one protocol differ in their scenario and seeds."""
    if not isinstance(value, dict):
        return str(value)
    items = [(key, item) for key, item in value.items() if name != "protocol" or key not in ("scenario", "seeds")]
    if name == "git" and "changed" in value:
        items = [(key, item) for key, item in items if key != "changed"]
        items.append(("working tree", "changed" if value["changed"] else "clean"))
    return ", ".join(f"{key} {_fact('', item)}" for key, item in items)


def _drop_repeats(origins: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the origins without facts that repeat those of the lifetime before."""
    return [
        {key: value for key, value in origin.items() if key in ("id", "path", "seed") or before.get(key) != value}
        for before, origin in zip([{}, *origins], origins, strict=False)
    ]


def _render(name: str, **facts: Any) -> str:
    return str(_environment().get_template(name).render(**facts))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("perdure.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = lambda value: value if isinstance(value, str) else number(value)
    environment.filters["json"] = lambda facts: Markup(json_for_script(facts))
    environment.filters["broken"] = lambda name: Markup("_<wbr>").join(escape(part) for part in str(name).split("_"))
    # Only for markup that Perdure rendered or ships: its own templates, styles and scripts.
    environment.filters["inline"] = Markup
    return environment


@cache
def template(name: str) -> str:
    return files("perdure.reports").joinpath("templates", name).read_text(encoding="utf-8").replace("\r", "")
