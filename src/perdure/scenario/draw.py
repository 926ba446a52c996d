"""A lifetime drawn as one line: a letter and a colour per task, capitals where it is learned."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure.scenario.model import Block, Scenario

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Cell", "cells", "letters", "lifetime_legend", "lifetime_line"]

_COLOURS = ("blue", "dark_orange", "green", "magenta", "cyan", "red", "yellow", "bright_black")
_LEARNING = "█"
_MANY = "░"


class Cell(Struct, frozen=True):
    """One column of the drawing: the block that it belongs to, and what stands in it."""

    block: int
    symbol: str


def letters(scenario: Scenario) -> dict[str, str]:
    """A small letter for each task, in task order; the 27th and later ones share a star."""
    return {
        task.label: string.ascii_lowercase[position] if position < 26 else "*"
        for position, task in enumerate(scenario.tasks)
    }


def cells(scenario: Scenario, width: int) -> tuple[Cell, ...]:
    """At most `width` columns, one per block while they last; learning shares the rest by length.

    Where there are too many blocks, an evaluation of several tasks is one dotted column; where there are
    too many still, evenly spaced ones are shown.
    """
    blocks = scenario.blocks
    letter = letters(scenario)
    heads = [Cell(index, _head(block, letter)) for index, block in enumerate(blocks)]
    if len(heads) > width:
        heads = [
            Cell(cell.block, _MANY) if block.mode == "evaluate" else cell
            for cell, block in zip(heads, blocks, strict=True)
            if block.mode == "learn" or cell.block == 0 or blocks[cell.block - 1].mode == "learn"
        ]
    if len(heads) > width:
        heads = [heads[position * len(heads) // width] for position in range(width)]
    drawn: list[Cell] = []
    for head, columns in zip(heads, _columns([blocks[head.block] for head in heads], width), strict=True):
        drawn += [head, *[Cell(head.block, _LEARNING)] * (columns - 1)]
    return tuple(drawn)


def lifetime_line(scenario: Scenario, width: int = 78) -> Text:
    """The drawing in colour."""
    from rich.text import Text

    text = Text(no_wrap=True)
    colours = _colours(scenario)
    for cell in cells(scenario, width):
        block = scenario.blocks[cell.block]
        colour = colours[block.task]
        style = "dim" if cell.symbol == _MANY else colour
        text.append(cell.symbol, style=f"bold {style}" if block.mode == "learn" else style)
    return text


def lifetime_legend(scenario: Scenario) -> Text:
    """Which letter and colour is which task."""
    from rich.text import Text

    text = Text()
    colours, letter = _colours(scenario), letters(scenario)
    for position, task in enumerate(scenario.tasks):
        text.append("  " if position else "")
        text.append(f"{letter[task.label].upper()} {task.label}", style=colours[task.label])
    return text.append("  (capital: learned; small, or ░ for several: evaluated)", style="dim")


def _columns(blocks: Sequence[Block], width: int) -> list[int]:
    """One column each; those left over go to learning blocks in proportion to their length."""
    spare = width - len(blocks)
    weights = [(block.length or 1) if block.mode == "learn" else 0 for block in blocks]
    total = sum(weights)
    return [1 + (spare * weight // total if total else 0) for weight in weights]


def _head(block: Block, letter: dict[str, str]) -> str:
    return letter[block.task].upper() if block.mode == "learn" else letter[block.task]


def _colours(scenario: Scenario) -> dict[str, str]:
    return {task.label: _COLOURS[position % len(_COLOURS)] for position, task in enumerate(scenario.tasks)}
