"""Build the reference pages from the declarations when the documentation is built; none is in the repository."""

from __future__ import annotations

import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[1]))  # MkDocs loads a hook by its path
from scripts.gallery import gallery
from scripts.metric_pages import metric_pages, table
from scripts.notebooks import NOTEBOOKS, page
from scripts.troubleshooting import troubleshooting

if TYPE_CHECKING:
    from perdure.curves.model import Preparation
    from perdure.log.rules import Rule
    from perdure.metrics.presets import Preset

__all__ = ["DEPARTURES", "on_files", "on_page_markdown", "pages"]

DEPARTURES = tomllib.loads((Path(__file__).parent / "departures.toml").read_text(encoding="utf-8"))
"""Preset → its differences from its document."""


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages and pictures to those on disk (a hook of MkDocs)."""
    figure_list, pictures = gallery()
    for name, text in {**pages(), "gallery": figure_list}.items():
        placeholder = files.get_file_from_path(f"reference/{name}.md")
        if placeholder is not None:  # the stored page only explains where this one comes from
            files.remove(placeholder)
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = page(json.loads(path.read_text()), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    for name, picture in pictures.items():
        files.append(File.generated(config, f"reference/gallery/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Reduce the code block type `console exact`, which makes the tests compare, to `console` (a hook of MkDocs)."""
    return re.sub(r"^```console exact$", "```console", markdown, flags=re.MULTILINE)


def pages() -> dict[str, str]:
    """Return every generated page by name."""
    return {
        "commands": commands(),
        "settings": settings(),
        **metric_pages(),
        "presets": presets(),
        "tasks": tasks(),
        "layouts": layouts(),
        "log-columns": log_columns(),
        "readers": readers(),
        "errors": errors(),
        "python": python(),
        "schemas": schemas(),
        "troubleshooting": troubleshooting(),
    }


def commands() -> str:
    """Return the page of verbs, each with its help."""
    from typer.testing import CliRunner

    from perdure.cli import VERBS
    from perdure.cli.app import application

    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    parts = [
        "# Commands\n\nResults go to stdout, progress to stderr; `--json FILE|-` gives the same facts to a machine. "
    ]
    parts.append("Exit status 0: all was answered; 1: something was left out or is wrong; 2: nothing could be done.\n")
    for verb in VERBS:
        full = runner.invoke(application(), [verb, "--help-all"])
        done = full if full.exit_code == 0 else runner.invoke(application(), [verb, "--help"])
        output = done.output.strip("\n")
        parts.append(f"\n## perdure {verb}\n\n```text\n{output}\n```\n")
    return "".join(parts)


def settings() -> str:
    """Return the page of settings: key, options, accepted values and default."""
    from perdure.settings import OPTIONS

    parts = ["# Settings\n\nEach is one declaration: an option of every verb that scores, a key of `perdure.toml` and "]
    parts.append(
        "of a protocol's `[score]`, and an entry of `settings` in every JSON, whose `settings_from` says where "
    )
    parts.append("it came from. First wins: the command line, `perdure.toml` beside the data, `[score]`, the log, ")
    parts.append("the preset.\n")
    for panel in dict.fromkeys(option.panel for option in OPTIONS.values()):
        rows = [
            (
                f"`{key}`",
                ", ".join(f"`{flag}`" for flag in (option.flag, *option.further_flags)),
                option.help,
                option.expected,
                option.otherwise,
            )
            for key, option in OPTIONS.items()
            if option.panel == panel
        ]
        heading = ("key", "option", "meaning", "takes", "else from")
        parts.append(f"\n## {panel or 'Everyday'}\n\n{table(heading, rows)}")
    parts.append("\nWhat a preset fixes is refused as an option: see [presets](presets.md).\n")
    return "".join(parts)


def presets() -> str:
    """Return the page of presets: their metrics, and how they differ from their publications."""
    from perdure.metrics.presets import PRESETS

    parts = ["# Presets\n\nWhat each preset computes, and where it differs from its document. A score carries its "]
    parts.append("preset; scores of different presets are never pooled.\n\n")
    named = ((f"[`{preset.name}`](#{_anchor(preset)})", preset.summary) for preset in PRESETS)
    parts.append(table(("preset", "what it is"), named))
    parts += [_preset(preset) for preset in PRESETS]
    return "".join(parts)


def _anchor(preset: Preset) -> str:
    """Return the anchor that MkDocs derives from the heading."""
    return preset.name.replace(".", "")


def _preset(preset: Preset) -> str:
    from perdure.metrics.presets import chosen_metrics, headline
    from perdure.stats.sentences import rule_of

    known = chosen_metrics(preset)
    listed = list(headline()) if preset.name == "standard" else list(known)
    rows = []
    for name in listed:
        metric = known[name]
        means = (metric.combine.__doc__ or "").partition("; there")[0].removesuffix(".")
        means = means.replace(" or median", "") if "aggregate" in preset.fixes else means
        means += "; of logarithms" if metric.scale == "log" else ""
        linked, verdict = f"[`{name}`](metrics/{name}.md)", "yes" if metric.headline else ""
        rows.append((linked, metric.summary, means, metric.bar, verdict, metric.source))
    heading = ("metric", "what it says", "over sites", "demonstrated", "verdict", "source")
    others = "" if len(listed) == len(known) else "\nAll others: [metrics](metrics.md).\n"
    decided = any(metric.headline for metric in known.values())
    parts = [
        f"\n## {preset.name}\n\n{preset.summary} Source: {preset.source}.\n\n### Preparation\n\n",
        *(f"- {step}\n" for step in _preparation(preset.prep)),
        f"\n### Metrics\n\n{table(heading, rows)}{others}",
        f"\n### Over lifetimes\n\n{rule_of(preset.name) if decided else 'Means with intervals; nothing is decided.'}\n",
    ]
    if preset.fixes:
        by_reason: dict[str, list[str]] = {}
        for key, why in preset.fixes.items():
            by_reason.setdefault(why, []).append(f"`{key}`")
        fixed = table(("key", "why"), ((", ".join(keys), why) for why, keys in by_reason.items()))
        parts.append(f"\n### What it fixes\n\nGiven as an option or in a file, it is refused.\n\n{fixed}")
    departures = [tuple(departure.values()) for departure in DEPARTURES[preset.name]]
    parts.append("\n### Where it differs\n\n" + table(("where", "the document", "here", "because"), departures))
    return "".join(parts)


def _preparation(prep: Preparation) -> Iterable[str]:
    """Yield the steps that make values comparable."""
    if prep.window == "none":
        yield "Smoothing: none before the metrics."
    else:
        width = f"{prep.width} {prep.unit}s" if prep.width else f"a fifth of the block's {prep.unit}s, at most 100"
        lag = "" if prep.alignment == "centred" else ", which lags: half a step behind for even lengths, one for odd"
        blocks = "learning and evaluation blocks" if prep.smooth_evaluation else "learning blocks"
        yield f"Smoothing: {blocks} one by one, a {prep.window} window of {width}{lag}."
    yield f"Clamping: {'at the 10th and 90th percentile of each task' if prep.clamp else 'none'}."
    ranges = {"task": "each task to 1–101", "run": "all tasks together to 1–101", "none": "none, values as measured"}
    yield f"Scaling: {ranges[prep.scale]}."
    if prep.scale != "none":
        bounds = "bounds that are given or that a log records, else" if prep.recorded_bounds else "given bounds, else"
        bounds = "" if prep.clamp else f"{bounds} "
        yield f"Range: {bounds}the data of a lifetime and its experts."
        if prep.keep_constant:
            yield "A task whose values never change counts in a lifetime's mean."
    if prep.matching == "prefix":
        yield "Experts and bounds: by the whole name of a task, else by a common beginning."


def tasks() -> str:
    """Return the page of built-in tasks and their parameters."""
    from perdure.tasks.catalogue import kind_named
    from perdure.tasks.interface import TASKS

    parts = ["# Tasks\n\nBesides these, any Gymnasium environment by its id.\n\n"]
    kinds = {name: kind_named(name) for name in TASKS.names()}
    parts.append(
        table(("task", "what is to be learned"), ((f"`{name}`", kind.summary) for name, kind in kinds.items()))
    )
    for name, kind in kinds.items():
        rows = ((f"`{item.name}`", repr(item.default), item.form, item.meaning) for item in kind.parameters or ())
        parts.append(f"\n\n## {name}\n\n{table(('parameter', 'default', 'may be', 'meaning'), rows)}")
    return "".join(parts) + "\n"


def layouts() -> str:
    """Return the page of the layouts of `perdure compose` and protocols."""
    from perdure.scenario.layouts import LAYOUTS

    rows = [
        (f"`{layout.name}`", layout.learned, layout.evaluated, layout.scenario_type, "yes" if layout.in_rounds else "")
        for layout in LAYOUTS.values()
    ]
    return "# Layouts\n\n" + table(("layout", "learned", "evaluated", "scenario type", "`superblocks`"), rows)


def log_columns() -> str:
    """Return the page of the standard columns of a log: types, and the rules of writing and checking."""
    from perdure.log.rules import MEASURE, RULES

    rows = [
        (f"`{rule.field}`" if rule.field in RULES else rule.field, f"`{rule.kind}`", rule.expected, _blank(rule))
        for rule in (*RULES.values(), MEASURE)
    ]
    return (
        "# Columns of a log\n\nEvery reader delivers these columns in this order, then the measures, then whatever "
        "else was logged. A journal writes nothing else, and `perdure check` "
        "refuses nothing that a journal writes.\n\n" + table(("column", "type", "expected", "blank"), rows)
    )


def _blank(rule: Rule) -> str:
    if rule.blank is None:
        return "never"
    return (f"`{rule.blank}`" if rule.sound(rule.blank) else rule.blank) + (", as where it is absent" * rule.optional)


def readers() -> str:
    """Return the page of log formats."""
    from perdure.log import READERS

    rows = "".join(f"| `{reader.name}` | {reader.summary} |\n" for reader in READERS)
    return (
        "# Readers\n\n`perdure.read` takes the first that recognises what it sees; "
        f"`reader=` names one. A plug-in adds its own.\n\n| reader | what it reads |\n|---|---|\n{rows}"
    )


def errors() -> str:
    """Return the page of exceptions, with the tree from the module's docstring."""
    import perdure.errors

    return f"# Errors\n\n```text\n{(perdure.errors.__doc__ or '').strip()}\n```\n"


def python() -> str:
    """Return the page of public names: signatures, docstrings, and the members of classes."""
    import perdure

    parts = [
        "# Python\n\nThe public names of `perdure`; they load on first use. What the shell can do, these can do.\n"
    ]
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Tables": []}
    for name in perdure.__all__:
        member = getattr(perdure, name)
        if inspect.isclass(member):
            kinds["Errors" if issubclass(member, Exception) else "Classes"].append(_described(name, member))
        else:
            kinds["Functions" if callable(member) else "Tables"].append(_described(name, member))
    for kind, described in kinds.items():
        parts += [f"\n## {kind}\n", *described]
    return "".join(parts)


def _described(name: str, one: Any) -> str:
    if not callable(one):
        listed = ", ".join(f"`{getattr(each, 'name', each)}`" for each in one)
        return f"\n### {name}\n\nBy name: {listed}.\n"
    text = inspect.getdoc(one) or ""
    parts = [f"\n### {name}\n\n```text\n{name}{_signature(one)}\n```\n\n{_markdown(one, text)}\n"]
    if inspect.isclass(one) and not issubclass(one, Exception):
        rows = []
        for member, attribute in vars(one).items():
            summary = (inspect.getdoc(attribute) or "").partition("\n\n")[0].replace("\n", " ")
            if (
                not member.startswith("_")
                and summary
                and (inspect.isfunction(attribute) or isinstance(attribute, property))
            ):
                rows.append((f"`{member}{'()' if inspect.isfunction(attribute) else ''}`", summary))
        parts.append("\n" + table(("member", "what it is"), rows) if rows else "")
    return "".join(parts)


def _markdown(documented: Any, text: str) -> str:
    """Return a NumPy-style docstring as Markdown: parameters as a table with types and defaults, examples as code."""
    description, *sections = re.split(
        r"^(Parameters|Attributes|Returns|Yields|Raises|Examples)\n-+\n", text, flags=re.MULTILINE
    )
    parts = [description.strip()]
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        if heading == "Examples":
            parts.append(f"```python\n{body.strip()}\n```")
            continue
        entries = re.findall(r"^(\S[^\n]*)\n((?:    [^\n]*\n?)+)", body, re.MULTILINE)
        rows = [(name, " ".join(meaning.split())) for names, meaning in entries for name in names.split(", ")]
        if heading == "Attributes":
            parts.append(table(("attribute", "meaning"), [(f"`{name}`", meaning) for name, meaning in rows]))
            continue
        if heading != "Parameters":
            parts.append(f"**{heading}** " + "; ".join(f"`{name}`: {meaning}" for name, meaning in rows))
            continue
        signature = inspect.signature(documented).parameters
        cells = []
        for name, meaning in rows:
            parameter = signature[name.strip("*")]
            default = (
                ""
                if parameter.default is parameter.empty
                else "`" + re.sub(r"<[^<>]*>", "…", repr(parameter.default)) + "`"
            )
            cells.append((f"`{name}`", f"`{parameter.annotation}`", default, meaning))
        parts.append(table(("parameter", "type", "default", "meaning"), cells))
    return "\n\n".join(parts)


def _signature(function: Any) -> str:
    """Return the signature as text: one parameter a line if it is long, without addresses of defaults."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(…)"
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    text = re.sub(r"<factory>|<[^<>]*>", "…", text)
    return text if len(text) <= 100 else text.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


def schemas() -> str:
    """Return the page of JSON documents: top-level keys and complete schemas."""
    from scripts.schemas import DOCUMENTS, SYLLABUS, schema

    parts = ["# JSON\n\nWhat `--json` writes and what is read; shipped as `perdure/schemas/NAME.schema.json`.\n"]
    for name in (*DOCUMENTS, SYLLABUS):
        document = schema(name)
        top = document
        if "$ref" in top:
            top = document["$defs"][top["$ref"].rpartition("/")[2]]
        needed = top.get("required", ())
        rows = [
            (f"`{key}`", _kind_of(definition), "yes" if key in needed else "", definition.get("description", ""))
            for key, definition in top.get("properties", {}).items()
        ]
        parts.append(f"\n## {name}\n\n{document.get('description', top.get('description', ''))}\n\n")
        parts.append(table(("key", "type", "always", "meaning"), rows))
        body = json.dumps(document, indent=2, ensure_ascii=False).replace("\n", "\n    ")
        parts.append(f'\n??? note "The schema of {name}"\n\n    ```json\n    {body}\n    ```\n')
    return "".join(parts)


def _kind_of(definition: dict[str, Any]) -> str:
    """Return the type of a property in a word or two."""
    if "$ref" in definition:
        return str(definition["$ref"]).rpartition("/")[2]
    if "anyOf" in definition:
        return " or ".join(_kind_of(each) for each in definition["anyOf"])
    kind = definition.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
