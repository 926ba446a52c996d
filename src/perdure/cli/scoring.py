"""What the verbs that score share: their options, and how these become settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from perdure.curves.model import Prep

__all__ = ["Experts", "Logs", "Measure", "Metrics", "Preset", "Variadic", "listed", "margins_of", "preparation"]

Logs = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...", help="Logs, folders of logs, run folders, or accuracy matrices.", show_default=False
    ),
]
Experts = Annotated[
    list[Path] | None,
    typer.Option("--experts", metavar="PATH...", help="Logs of experts, folders of them, or taskinfo/info.json."),
]
Preset = Annotated[str, typer.Option("--preset", metavar="NAME", help="How to score; see `perdure list presets`.")]
Measure = Annotated[
    str | None,
    typer.Option("--measure", metavar="NAME", help="The measure to score; the first declared one if not given."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", metavar="ID|FILE.py...", help="Only these metrics; a Python file adds those it declares."
    ),
]


class Variadic(TyperCommand):
    """A command whose `--experts` and `--metrics` take several values in a row, once its LOG, if any, was given."""

    greedy = ("--experts", "--metrics")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`LOG --experts A B` as `LOG --experts A --experts B`."""
        return super().parse_args(ctx, self._spelt_out(args))

    def _spelt_out(self, args: Sequence[str]) -> list[str]:
        takes_value = {
            name
            for parameter in self.params
            for name in (*parameter.opts, *parameter.secondary_opts)
            if parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
        }
        spelt: list[str] = []
        current: str | None = None  # the greedy option whose values are being read
        value_of: str | None = None  # an option whose single value comes next
        # Where the command takes no LOG, no word can be meant as one.
        seen_log = all(parameter.param_type_name == "option" for parameter in self.params)
        for at, word in enumerate(args):
            if value_of is not None:
                spelt.append(word)
                current = value_of if value_of in self.greedy and seen_log else None
                value_of = None
            elif word == "--":
                return [*spelt, *args[at:]]
            elif word.startswith("-") and word != "-":
                spelt.append(word)
                name = word.partition("=")[0]
                current = name if "=" in word and name in self.greedy and seen_log else None
                value_of = word if word in takes_value else None
            elif current is not None:
                spelt += [current, word]
            else:
                seen_log = True
                spelt.append(word)
        return spelt


def listed(values: Sequence[str] | None) -> tuple[str, ...]:
    """`["a,b", "c"]` as `("a", "b", "c")`."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())


def margins_of(pairs: Sequence[str] | None) -> dict[str, float]:
    """`["performance_maintenance=2"]` as a mapping from ids to margins."""
    margins: dict[str, float] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        try:
            margins[name] = float(text)
        except ValueError:
            equals = ""
        if not (name and equals) or not 0 <= margins[name] < float("inf"):
            raise typer.BadParameter(
                f"--margin {pair!r}: expected ID=X with X of 0 or more, as in forward_transfer=0.05"
            )
    return margins


def preparation(preset: str, bounds: Path | None, **given: Any) -> Prep:
    """The preset's preparation, with what was given in its place."""
    from dataclasses import replace

    from perdure.curves.bounds import read_bounds
    from perdure.metrics.presets import preset as preset_called

    changed = {name: value for name, value in given.items() if value is not None}
    if bounds is not None:
        changed["bounds"] = read_bounds(bounds)
    return replace(preset_called(preset).prep, **changed)
