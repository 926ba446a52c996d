"""The report as one HTML file that opens offline: the answer on one screen, everything behind it folded below.

Figures are SVG that Perdure writes, so that they are there without a script, print as lines, and turn dark with the
page; the script only adds what is seen when pointing at them.
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
from perdure.gather.model import Life
from perdure.reports import tables
from perdure.reports.figures.declare import task_looks
from perdure.reports.formats.pictures import lifetime_pictures, opening, sections
from perdure.reports.grid import grids
from perdure.reports.model import Report, given_settings
from perdure.reports.palette import dark_colours
from perdure.stats.answer import alike, answers, better
from perdure.stats.difference import Comparison
from perdure.stats.scored import GroupedSurvey
from perdure.stats.sentences import sentence
from perdure.words import listed, number, plural

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["body", "html", "json_inside", "policy", "template"]

_ROOM = 6_000_000
"""How many characters the pages of single lifetimes may take together."""
_MOST_ANSWERED = 4
"""Learners that are answered one by one; more are named under what is said of them."""
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
    """The whole page; `live` while lifetimes still run: how many of them it is of."""
    waits = live is not None and not report.material.lives
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
    """What stands between header and footer, and the facts that its script shows: tasks, and tables of lifetimes."""
    material = report.material
    said, looks = answers(material.groups), task_looks(material)
    # While none has ended, the live page shows what runs itself.
    ended = live is None or any(group.n for group in material.groups)
    shown, shown_first = sections(material), opening(material) if ended else []
    pages, held = _pages(material)
    named = {group.group: group for group in material.groups}
    about = {
        "lives": plural(len(material.lives), "lifetime"),
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
            leads=report.leads if len(material.groups) == 1 else (),
            colours=_COLOURS,
            better=[line for one in report.comparisons if (line := better(one, named))],
            grids=grids(material.groups, material.survey.metrics),
            unmeasured=_unmeasured(report),
            opening=shown_first,
            legend=_legend(material, len(shown_first)),
            tasks=[(task, look.colour, look.shade) for task, look in looks.items()],
            so_far=live or "",
            warned=_warned(material, runs=live is not None),
            sections=[
                (at, *(one.format(**about) for one in said)) for at, *said in _SECTIONS if at in always or at in shown
            ],
            shown=shown,
            groups=[
                {
                    "table": tables.metrics(material, one),
                    "more": tables.metrics(material, one, judged=False),
                    "missing": tables.without_value(one.estimates),
                }
                for one in material.groups
            ],
            tallied=tables.tallied(report.tally) if report.tally else (),
            capabilities=tables.capabilities(material),
            comparisons=[_compared(one) for one in report.comparisons],
            lifetimes=tables.lifetimes(material),
            costs=tables.costs(material),
            pages=pages,
            unpaged=len(material.lives) - len(pages),
            left_out=material.survey.left_out,
            definitions=tables.definitions(material.survey.metrics, report.valued),
            methods=report.methods,
            provenance=_provenance(report),
            settings=_pretty(report.provenance.get("settings", {})),
            origins="\n".join(_line(one) for one in _once(report.provenance.get("lifetimes", []))),
        )
    )
    return str(rendered), {"tasks": list(looks), "tables": held}


def policy(scripts: Sequence[str], *, live: bool = False) -> str:
    """A Content-Security-Policy: exactly these scripts run, and reach nothing (the live page: its own server)."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts)
    connect = " connect-src 'self';" if live else ""
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:;"
        f"{connect} base-uri 'none'; form-action 'none'"
    )


def json_inside(facts: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or a line."""
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# --- parts ---------------------------------------------------------------------------------------


def _pages(material: GroupedSurvey) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Each lifetime's folded page and the tables that belong in it, as far as there is room."""
    pages: list[dict[str, Any]] = []
    held: dict[str, Any] = {}
    room = _ROOM
    for at, (life, picture) in enumerate(lifetime_pictures(material)):
        name = f"life-{at + 1}"
        alone = not any(group.n > 1 and life.id in group.lives for group in material.groups)
        measured = tables.values(life, material.survey.metrics, material.survey.bars, alone=alone)
        held[name] = [table.as_data() for table in (measured, tables.blocks(life))]
        pages.append({"name": name, "svg": picture.svg, "caption": picture.caption, **_told(life)})
        room -= len(picture.svg) + 30 * sum(len(table["rows"]) for table in held[name])
        if room < 0:
            break
    return pages, held


def _told(one: Life) -> dict[str, Any]:
    """What is said of a lifetime besides its numbers."""
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
    """A comparison in words and as a table."""
    said = [sentence(one, found.system, found.baseline) for one in found.differences.values()]
    table = tables.comparison(found)
    return {"title": table.caption, "sentences": said, "table": table}


def _unmeasured(report: Report) -> str:
    """Which headline questions nobody could answer, and why."""
    material = report.material
    if not any(group.n for group in material.groups):
        return ""
    kind = "matrix" if all(group.unit for group in material.groups) else "log"
    missing: dict[str, list[str]] = {}
    for name, metric in material.survey.metrics.items():
        found = [group.estimates[name] for group in material.groups if name in group.estimates]
        if metric.headline == kind and found and all(one.mean is None for one in found):
            missing.setdefault(found[0].absent or "no value", []).append(name.replace("_", " "))
    said = [f"{listed(names)} ({why})" for why, names in missing.items()]
    return f"Not measured: {'; '.join(said)}." if said else ""


def _legend(material: GroupedSurvey, figures: int) -> str:
    """What the figures of the first screen are made of."""
    if not figures or (material.groups and all(group.unit for group in material.groups)):
        return ""
    said = "faint: as logged · strong: smoothed · dots: evaluations, 95 % intervals"
    return f"{said} · one scale" if figures > 1 else said


def _warned(material: GroupedSurvey, *, runs: bool = False) -> list[str]:
    """What keeps lifetimes from counting: that belongs beside the answer."""
    short = [group for group in material.groups if group.left_out]
    said = [material.apart] if material.apart and material.groups else []
    for one in short:
        count = len(one.left_out)
        why = "has not ended" if runs else "did not reach the end"
        if count > 1:
            why = "have not ended" if runs else why
        verb = "is" if count == 1 else "are"
        said.append(f"{one.group}: {plural(count, 'lifetime')} {why} and {verb} not counted{' yet' * runs}.")
    unread = len(material.survey.left_out)
    return [*said, f"{unread} of what was given or planned is missing or left out."] if unread else said


def _dark() -> str:
    """The colours of tasks and groups on dark paper."""
    rules = [f".c{at}{{color:{colour}!important}}" for at, colour in enumerate(dark_colours())]
    system, chosen = ':root:not([data-theme="light"]) ', ':root[data-theme="dark"] '
    return (
        f"@media screen and (prefers-color-scheme: dark){{{''.join(system + one for one in rules)}}}"
        f"@media screen{{{''.join(chosen + one for one in rules)}}}"
    )


def _subtitle(report: Report) -> str:
    material = report.material
    counts = {group.n for group in material.groups}
    each = (
        f"{plural(counts.pop(), 'lifetime')} in each of {len(material.groups)} groups"
        if len(counts) == 1 and len(material.groups) > 1
        else ""
    )
    measures = listed(sorted({one.score.measure for one in material.lives if one.score.measure}))
    experts = len(report.provenance.get("settings", {}).get("experts") or ())
    parts = [
        each or plural(len(material.lives), "lifetime"),
        plural(len(material.tasks), "task"),
        f"measure: {measures}",
        plural(experts, "expert") if experts else "no experts",
        f"preset {material.survey.preset}",
    ]
    written = str(report.provenance.get("written") or "").partition("T")[0]
    return " · ".join([*parts, f"written {written}"] if written else parts)


def _provenance(report: Report) -> list[tuple[str, str]]:
    """The facts that all lifetimes share, and how many values those have that they do not."""
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
    """The origins without what repeats the lifetime before, so that thirty do not say one thing thirty times."""
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
    # Only for what Perdure itself rendered or ships: its own templates, styles and scripts.
    made.filters["inline"] = Markup
    return made


@cache
def template(name: str) -> str:
    return files("perdure.reports").joinpath("templates", name).read_text(encoding="utf-8").replace("\r", "")
