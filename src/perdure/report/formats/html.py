"""The report as one HTML file that opens offline: styles, scripts and data inside, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perdure import __version__
from perdure.gather.model import Life
from perdure.report import tables
from perdure.report.draw import data
from perdure.report.draw.data import Flagged, Nothing, View, flags_text
from perdure.report.draw.data.lives import lifetime_of, scenario_of
from perdure.report.draw.plotly import groups as charts
from perdure.report.draw.plotly import lives as interactive
from perdure.report.draw.scenario import Drawing, drawing
from perdure.report.material import Material
from perdure.report.model import Report, given_settings
from perdure.stats.compare import Comparison
from perdure.stats.model import Group
from perdure.stats.sentences import sentence
from perdure.words import number

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["body", "html", "json_inside", "policy", "template"]

MOST_FEATURED = 6
_MOST_ROWS = 200  # of a matrix in a page; 40 000 cells take half a megabyte
_LIFE_WORDS = (
    "Lines: learning, faint as logged and strong smoothed. Dots: evaluations with 95 % intervals. "
    "Shaded by the task being learned."
)
_SECTIONS = (
    ("verdict", "Verdict"),
    ("metrics", "Metrics"),
    ("lives", "Figures"),
    ("scenario", "Scenario"),
    ("comparison", "Comparison"),
    ("lifetimes", "Lifetimes"),
    ("definitions", "Definitions"),
    ("checklist", "Checklist"),
    ("provenance", "Provenance"),
)


def html(report: Report, *, live: bool = False, more_scripts: Sequence[str] = ()) -> str:
    """The whole page."""
    main, figures = body(report)
    scripts = [_plotly(), template("report.js"), *more_scripts]
    material = report.material
    has = {"comparison": bool(report.comparisons)}
    return str(
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            body=main,
            figures=figures,
            policy=policy(scripts, live=live),
            css=template("report.css"),
            scripts=scripts,
            subtitle="kept up to date while logs grow" if live else _subtitle(report),
            sections=[(anchor, name) for anchor, name in _SECTIONS if has.get(anchor, True)],
            tasks=[(task, look.colour) for task, look in material.looks.items()],
            version=__version__,
            live=live,
        )
    )


def body(report: Report) -> tuple[str, dict[str, Any]]:
    """What stands between header and footer, and the figures that belong in it, by name."""
    material = report.material
    figures: dict[str, Any] = {}

    def keep(name: str, spec: interactive.Spec | None) -> str | None:
        if spec is not None:
            figures[name] = spec
        return name if spec is not None else None

    keep("metrics", charts.metrics(data.metrics(material)))
    keep("capabilities", charts.capabilities(data.capabilities(material)))
    pages = [_page(at, one, material, figures) for at, one in enumerate(material.lives)]
    overall = [
        (name, caption)
        for name, spec, caption in (
            (
                "stability",
                charts.scatter(data.stability_plasticity(material)),
                "What is carried over and what is kept.",
            ),
            (
                "efficiency",
                charts.scatter(data.efficiency_maintenance(material)),
                "What is kept, and how fast it is learned.",
            ),
            (
                "cost",
                charts.scatter(data.performance_cost(material)),
                "What is achieved, and what it costs, beside experts.",
            ),
            (
                "radar",
                charts.radar(data.radar(material)),
                "The share of lifetimes beyond each threshold; what was not measured is left open.",
            ),
            (
                "profiles",
                charts.profiles(data.profiles(material)),
                "The share of lifetimes and tasks that end above each level.",
            ),
        )
        if keep(name, spec)
    ]
    rendered = (
        _environment()
        .get_template("main.html.j2")
        .render(
            report=report,
            figures=figures,
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
            featured=_featured(material, figures),
            overall=overall,
            scenarios=_scenarios(material),
            comparisons=[_compared(one) for one in report.comparisons],
            lifetimes=tables.lifetimes(material),
            costs=tables.costs(material),
            pages=pages,
            left_out=material.survey.left_out,
            definitions=tables.definitions(material.survey.metrics, report.valued),
            provenance=_provenance(report),
            settings=_pretty(report.provenance.get("settings", {})),
            origins=_pretty(_once(report.provenance.get("lifetimes", []))),
        )
    )
    return str(rendered), figures


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


def _page(at: int, one: Life, material: Material, figures: dict[str, Any]) -> dict[str, Any]:
    """One lifetime's folded page."""
    name = f"life-{at}"
    spec = interactive.lifetime(lifetime_of(one.sketch), material.looks)
    alone = not any(group.n > 1 and one.id in group.lives for group in material.groups)
    measured = tables.values(one, material.survey.metrics, material.survey.bars, alone=alone)
    figures[name] = {**spec, "tables": [table.as_data() for table in (measured, tables.blocks(one))]}
    score = one.score
    about = [score.learner, None if score.seed is None else f"seed {score.seed}", _ended(one)]
    missing = {found.why: key for key, found in score.metrics.items() if found.value is None and found.why}
    dropped = [f"{count} rows dropped: {why}" for why, count in score.dropped.items()]
    never = [f"never learned: {task}" for task in score.not_learned]
    return {
        "id": one.id,
        "about": " · ".join(word for word in about if word),
        "figure": name,
        "notes": [*dropped, *never, *score.notes, *(f"{why} (e.g. {key})" for why, key in list(missing.items())[:6])],
    }


def _compared(found: Comparison) -> dict[str, Any]:
    """A comparison in words and as a table."""
    said = [sentence(one, found.system, found.baseline) for one in found.differences.values()]
    table = tables.comparison(found)
    return {"title": table.caption, "sentences": said, "table": table}


def _ended(one: Life) -> str | None:
    return {True: None, None: None, False: "did not reach its end"}[one.score.complete]


def _featured(material: Material, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """The first lifetime of each group, with what its group comes to."""
    shown: list[dict[str, Any]] = []
    first = {one.id: at for at, one in reversed(list(enumerate(material.lives)))}
    for at, group in enumerate(_opening(material.groups)[:MOST_FEATURED] or (None,)):
        lives = (material.of_group(group) or material.partial(group)) if group else material.lives[:1]
        if not lives:
            continue
        life, view = lives[0], View(group=group.group if group else None)
        made: dict[str, Any] = {"title": f"{group.group}: {life.id}" if group and group.group != "all" else life.id}
        drawn = f"life-{first[life.id]}"
        made |= {"life": drawn, "label": f"Learning curves and evaluations of {made['title']}", "words": _LIFE_WORDS}
        experts = interactive.beside(data.experts(material, View(lifetime=life.id)), material.looks)
        made["beside"] = f"beside-{at}" if experts else None
        if experts:
            figures[f"beside-{at}"] = experts
        made["matrices"] = []
        for kind, spec, caption in _matrices(material, view):
            figures[f"{kind}-{at}"] = spec
            made["matrices"].append((f"{kind}-{at}", caption))
        if life.score.identity.unit and made["matrices"]:  # nothing is known of its learning: the matrix is the picture
            (heat, caption), made["matrices"] = made["matrices"][0], [(drawn, "Each task's evaluations, one by one.")]
            made |= {"life": heat, "label": caption, "words": caption}
        shown.append(made)
    return shown


def _opening(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups, led by two learners in the same type of scenario where there are two: they open the page."""
    for one in groups:
        for other in groups:
            if one.learner != other.learner and one.scenario_type == other.scenario_type and one.n and other.n:
                return (one, other, *(group for group in groups if group not in (one, other)))
    return tuple(groups)


def _matrices(material: Material, view: View) -> Iterator[tuple[str, interactive.Spec, str]]:
    """What stands side by side for a group: a name, a heat map, and what it says of how many lifetimes."""
    found = data.accuracy(material, view, _MOST_ROWS)
    if not isinstance(found, Nothing):
        said = f"How well each task is done after each task was learned; {found.caption}"
        yield "accuracy", charts.accuracy(found), said + _flagged(found.flags)
    transfers = data.transfer(material, view, _MOST_ROWS)
    if isinstance(transfers, Nothing):
        return
    for one in transfers.matrices:
        name = one.metric.replace("_", " ")
        how = "how learning a task (row) changes another (column)"
        if one.metric.startswith("ste_"):
            how = "how well a task (column) is done after another (row) was learned"
        said = f"{name.capitalize()}: {how}, {one.meaning}"
        counted = [part for part in (transfers.name, one.caption) if part]
        yield one.metric, charts.transfer(one), "; ".join([said, ", ".join(counted)]) + _flagged(one.flags)


def _flagged(flags: Sequence[Flagged]) -> str:
    return f". Flags: {flags_text(flags)}" if flags else ""


def _scenarios(material: Material) -> list[Drawing]:
    """Each different order of blocks once, at most four of them."""
    found: dict[tuple[Any, ...], list[Life]] = {}
    for one in material.lives:
        shape = tuple((part.block.mode, part.block.task, part.block.subtype) for part in one.sketch.stretches)
        found.setdefault(shape, []).append(one)
    drawn = [drawing(scenario_of(lives[0].sketch), material.looks, len(lives)) for lives in list(found.values())[:4]]
    return [one for one in drawn if one is not None]


def _subtitle(report: Report) -> str:
    material = report.material
    measures = ", ".join(sorted({one.score.measure for one in material.lives if one.score.measure}))
    count = len(material.lives)
    lives = f"{count} lifetimes" if count != 1 else "1 lifetime"
    parts = [lives, f"{len(material.tasks)} tasks", f"measure: {measures}", f"preset: {material.survey.preset}"]
    written = report.provenance.get("written")
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


def _pretty(facts: Any) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=1, default=str)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("perdure.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["cell"] = lambda value: value if isinstance(value, str) else number(value)
    made.filters["json"] = lambda facts: Markup(json_inside(facts))
    # Only for what Perdure itself rendered or ships: its own templates, styles and scripts.
    made.filters["inline"] = Markup
    return made


@cache
def template(name: str) -> str:
    return files("perdure.report").joinpath("templates", name).read_text(encoding="utf-8").replace("\r", "")


@cache
def _plotly() -> str:
    """plotly.js as the installed package ships it."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8").replace("\r", "")
