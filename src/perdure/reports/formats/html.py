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
from perdure.reports.formats.pictures import lifetime_pictures, opening, sections
from perdure.reports.grid import grids
from perdure.reports.model import Report, given_settings
from perdure.reports.palette import dark_colours
from perdure.stats.answer import alike, answers, better
from perdure.stats.compare import Comparison
from perdure.stats.groups import GroupedSurvey
from perdure.stats.sentences import sentence
from perdure.text import listed, number, plural

if TYPE_CHECKING:
    from jinja2 import Environment


_ROOM = 6_000_000
"""Characters that the sections of single lifetimes may take together."""
_MOST_ANSWERED = 4
"""Learners with an answer each; more are listed under each answer."""
_COLOURS = {"met": "good", "not met": "poor", "undecided": "open", None: "plain"}
_SECTIONS = (
    ("curves", "Curves by lifetime", "{lives}: learning curves, evaluations, metrics and blocks of each"),
    ("matrices", "What is forgotten, what helps what", "forgetting by task, forward and backward transfer apart"),
    ("recovery", "Recovery", "how soon what fell comes back"),
    ("experts", "Against experts", "learning beside experts of single tasks"),
    ("statistics", "Statistics in full", "{metrics}: intervals, tests, notes, comparisons"),
    ("scenario", "Scenario", "what is learned and evaluated when"),
    ("checklist", "Checklist", "what a reader should find, and what is missing"),
    ("definitions", "Definitions", "what each number means, and its source"),
    ("methods", "Statement of methods", "a paragraph to paste"),
    ("provenance", "Provenance", "versions, seeds, settings, how to repeat it"),
)


def html(report: Report, *, live: str | None = None, more_scripts: Sequence[str] = ()) -> str:
    """Return the whole page; `live` is how many lifetimes it covers while others still run."""
    waits = live is not None and not report.data.lifetimes
    main, facts = ("", {"tasks": [], "tables": {}}) if waits else body(report, live=live)
    scripts = [template("report.js"), *more_scripts]
    return str(
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            body=main,
            facts=facts,
            policy=policy(scripts, live=live is not None),
            css=template("report.css") + _dark() + (template("live.css") if live is not None else ""),
            scripts=scripts,
            subtitle=_subtitle(report) if live is None else "",
            version=__version__,
            live=live is not None,
        )
    )


def body(report: Report, *, live: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the main part, and the data for its script: tasks, and tables of lifetimes."""
    data = report.data
    said, looks = answers(data.groups), task_looks(data)
    # While none has ended, the live page shows what runs itself.
    ended = live is None or any(group.n for group in data.groups)
    shown, shown_first = sections(data), opening(data) if ended else []
    pages, held = _pages(data)
    named = {group.group: group for group in data.groups}
    about = {
        "lives": plural(len(data.lifetimes), "lifetime"),
        "metrics": plural(len(report.valued), "metric"),
    }
    always = {"curves", "statistics", "checklist", "definitions", "methods", "provenance"}
    rendered = (
        _environment()
        .get_template("main.html.j2")
        .render(
            report=report,
            answers=said if len(said) <= _MOST_ANSWERED else (),
            alike=alike(said) if len(said) > _MOST_ANSWERED else (),
            leads=report.leads if len(data.groups) == 1 else (),
            colours=_COLOURS,
            better=[line for one in report.comparisons if (line := better(one, named))],
            grids=grids(data.groups, data.survey.metrics),
            unmeasured=_unmeasured(report),
            opening=shown_first,
            legend=_legend(data, len(shown_first)),
            tasks=[(task, look.colour, look.shade) for task, look in looks.items()],
            so_far=live or "",
            warned=_warned(data, runs=live is not None),
            sections=[
                (at, *(one.format(**about) for one in said)) for at, *said in _SECTIONS if at in always or at in shown
            ],
            shown=shown,
            groups=[
                {
                    "table": tables.metrics(data, one),
                    "more": tables.metrics(data, one, judged=False),
                    "missing": tables.without_value(one.estimates),
                }
                for one in data.groups
            ],
            tallied=tables.tallied(report.tally) if report.tally else (),
            capabilities=tables.capabilities(data),
            comparisons=[_compared(one) for one in report.comparisons],
            lifetimes=tables.lifetimes(data),
            costs=tables.costs(data),
            pages=pages,
            unpaged=len(data.lifetimes) - len(pages),
            left_out=data.survey.left_out,
            definitions=tables.definitions(data.survey.metrics, report.valued),
            methods=report.methods,
            provenance=_provenance(report),
            settings=_pretty(report.provenance.get("settings", {})),
            origins="\n".join(_line(one) for one in _once(report.provenance.get("lifetimes", []))),
        )
    )
    return str(rendered), {"tasks": list(looks), "tables": held}


def policy(scripts: Sequence[str], *, live: bool = False) -> str:
    """Return a Content-Security-Policy: only these scripts run, and only a live page may reach its own server."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts)
    connect = " connect-src 'self';" if live else ""
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:;"
        f"{connect} base-uri 'none'; form-action 'none'"
    )


def json_inside(facts: Any) -> str:
    """Return JSON for a script element: no character in it can end the element or a line."""
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# --- parts ---------------------------------------------------------------------------------------


def _pages(data: GroupedSurvey) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return each lifetime's folded section and its tables, as far as there is room."""
    pages: list[dict[str, Any]] = []
    held: dict[str, Any] = {}
    room = _ROOM
    for at, (life, picture) in enumerate(lifetime_pictures(data)):
        name = f"life-{at + 1}"
        alone = not any(group.n > 1 and life.id in group.lives for group in data.groups)
        measured = tables.values(life, data.survey.metrics, data.survey.bars, alone=alone)
        held[name] = [table.as_data() for table in (measured, tables.blocks(life))]
        pages.append({"name": name, "svg": picture.svg, "caption": picture.caption, **_told(life)})
        room -= len(picture.svg) + 30 * sum(len(table["rows"]) for table in held[name])
        if room < 0:
            break
    return pages, held


def _told(one: ScoredLifetime) -> dict[str, Any]:
    """Return the name of a lifetime, its learner and seed, and notes."""
    score = one.score
    ended = None if score.complete is not False else "did not reach its end"
    about = [score.learner, None if score.seed is None else f"seed {score.seed}", ended]
    missing = {found.why: key for key, found in score.metrics.items() if found.value is None and found.why}
    dropped = [f"{plural(count, 'row')} dropped: {why}" for why, count in score.dropped.items()]
    never = [f"never learned: {task}" for task in score.not_learned]
    return {
        "id": one.id,
        "about": " · ".join(word for word in about if word),
        "notes": [*dropped, *never, *score.notes, *(f"{why} (e.g. {key})" for why, key in list(missing.items())[:6])],
    }


def _compared(found: Comparison) -> dict[str, Any]:
    """Return a comparison as sentences and as a table."""
    said = [sentence(one, found.system, found.baseline) for one in found.differences.values()]
    table = tables.comparison(found)
    return {"title": table.caption, "sentences": said, "table": table}


def _unmeasured(report: Report) -> str:
    """Return the headline metrics that no group has, and why."""
    data = report.data
    if not any(group.n for group in data.groups):
        return ""
    kind = "matrix" if all(group.unit for group in data.groups) else "log"
    missing: dict[str, list[str]] = {}
    for name, metric in data.survey.metrics.items():
        found = [group.estimates[name] for group in data.groups if name in group.estimates]
        if metric.headline == kind and found and all(one.mean is None for one in found):
            missing.setdefault(found[0].absent or "no value", []).append(name.replace("_", " "))
    said = [f"{listed(names)} ({why})" for why, names in missing.items()]
    return f"Not measured: {'; '.join(said)}." if said else ""


def _legend(data: GroupedSurvey, figures: int) -> str:
    """Return the legend of the figures on the first screen."""
    if not figures or (data.groups and all(group.unit for group in data.groups)):
        return ""
    said = "faint: as logged · strong: smoothed · dots: evaluations, 95 % intervals"
    return f"{said} · one scale" if figures > 1 else said


def _warned(data: GroupedSurvey, *, runs: bool = False) -> list[str]:
    """Return warnings about lifetimes that do not count."""
    short = [group for group in data.groups if group.left_out]
    said = [data.apart] if data.apart and data.groups else []
    for one in short:
        count = len(one.left_out)
        why = "has not ended" if runs else "did not reach the end"
        if count > 1:
            why = "have not ended" if runs else why
        verb = "is" if count == 1 else "are"
        said.append(f"{one.group}: {plural(count, 'lifetime')} {why} and {verb} not counted{' yet' * runs}.")
    unread = len(data.survey.left_out)
    return [*said, f"{unread} of what was given or planned is missing or left out."] if unread else said


def _dark() -> str:
    """Return the colours of tasks and groups in dark mode, as CSS."""
    rules = [f".c{at}{{color:{colour}!important}}" for at, colour in enumerate(dark_colours())]
    system, chosen = ':root:not([data-theme="light"]) ', ':root[data-theme="dark"] '
    return (
        f"@media screen and (prefers-color-scheme: dark){{{''.join(system + one for one in rules)}}}"
        f"@media screen{{{''.join(chosen + one for one in rules)}}}"
    )


def _subtitle(report: Report) -> str:
    data = report.data
    counts = {group.n for group in data.groups}
    each = (
        f"{plural(counts.pop(), 'lifetime')} in each of {len(data.groups)} groups"
        if len(counts) == 1 and len(data.groups) > 1
        else ""
    )
    measures = listed(sorted({one.score.measure for one in data.lifetimes if one.score.measure}))
    experts = len(report.provenance.get("settings", {}).get("experts") or ())
    parts = [
        each or plural(len(data.lifetimes), "lifetime"),
        plural(len(data.tasks), "task"),
        f"measure: {measures}",
        plural(experts, "expert") if experts else "no experts",
        f"preset {data.survey.preset}",
    ]
    written = str(report.provenance.get("written") or "").partition("T")[0]
    return " · ".join([*parts, f"written {written}"] if written else parts)


def _provenance(report: Report) -> list[tuple[str, str]]:
    """Return facts that all lifetimes share, and the number of values of those that differ."""
    lives = report.provenance.get("lifetimes", [])
    facts = [
        ("perdure", str(report.provenance.get("perdure", ""))),
        ("preset", str(report.provenance.get("preset", ""))),
    ]
    if given := given_settings(report):
        facts.append(("settings given", given))
    for name in ("protocol", "versions", "git", "machine", "command"):
        found = list(dict.fromkeys(_flat(one[name]) for one in lives if name in one))
        if found:
            facts.append((name, found[0] if len(found) == 1 else f"{len(found)} different ones, see below"))
    seeds = [str(one["seed"]) for one in lives if one.get("seed") is not None]
    facts.append(("seeds", ", ".join(dict.fromkeys(seeds)) or "not stated"))
    return facts


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(one)}" for key, one in value.items())
    return str(value)


def _once(lives: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the origins without facts that repeat those of the lifetime before."""
    told: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    for one in lives:
        told.append(
            {key: value for key, value in one.items() if key in ("id", "path", "seed") or before.get(key) != value}
        )
        before = one
    return told


def _line(facts: Any) -> str:
    return json.dumps(facts, ensure_ascii=False, default=str)


def _pretty(facts: Any) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=1, default=str)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    made = Environment(
        loader=PackageLoader("perdure.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["cell"] = lambda value: value if isinstance(value, str) else number(value)
    made.filters["json"] = lambda facts: Markup(json_inside(facts))
    made.filters["broken"] = lambda name: Markup("_<wbr>").join(escape(part) for part in str(name).split("_"))
    # Only for markup that Perdure rendered or ships: its own templates, styles and scripts.
    made.filters["inline"] = Markup
    return made


@cache
def template(name: str) -> str:
    return files("perdure.reports").joinpath("templates", name).read_text(encoding="utf-8").replace("\r", "")
