"""Draw a lifetime as one line: a letter and a colour per task, capitals for learning."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure.scenario.model import Scenario

if TYPE_CHECKING:
    from rich.text import Text


# Blue, brown, green, magenta, teal, red, violet and grey, of which white and black paper differ alike.
_COLOURS = tuple(f"color({number})" for number in (33, 130, 28, 164, 30, 196, 99, 243))
_LEARNING = "█"
_MANY = "░"


class LineCell(Struct, frozen=True):
    """One column of the drawing: its block and its character."""

    block: int
    symbol: str


def letters(scenario: Scenario) -> dict[str, str]:
    """Return a small letter for each task, in task order; the 27th and later tasks share a star."""
    return {
        task.label: string.ascii_lowercase[position] if position < 26 else "*"
        for position, task in enumerate(scenario.tasks)
    }


def cells(scenario: Scenario, width: int) -> tuple[LineCell, ...]:
    """Return at most `width` columns: one per block, and learning blocks share the rest by length.

    If there are too many blocks, an evaluation of several tasks is one dotted column; if there are still too many,
    evenly spaced ones are shown.
    """
    blocks = scenario.blocks
    letter = letters(scenario)
    heads = [
        LineCell(index, letter[block.task].upper() if block.mode == "learn" else letter[block.task])
        for index, block in enumerate(blocks)
    ]
    if len(heads) > width:
        heads = [
            LineCell(cell.block, _MANY) if block.mode == "evaluate" else cell
            for cell, block in zip(heads, blocks, strict=True)
            if block.mode == "learn" or cell.block == 0 or blocks[cell.block - 1].mode == "learn"
        ]
    if len(heads) > width:
        heads = [heads[position * len(heads) // width] for position in range(width)]
    lengths = [(blocks[head.block].length or 1) * (blocks[head.block].mode == "learn") for head in heads]
    spare, total = width - len(heads), sum(lengths) or 1
    cells: list[LineCell] = []
    for head, length in zip(heads, lengths, strict=True):
        cells += [head, *[LineCell(head.block, _LEARNING)] * (spare * length // total)]
    return tuple(cells)


def lifetime_line(scenario: Scenario, width: int = 78) -> Text:
    """Return the drawing in colour."""
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
    """Return the legend: the letter and the colour of each task."""
    from rich.text import Text

    text = Text()
    colours, letter = _colours(scenario), letters(scenario)
    for position, task in enumerate(scenario.tasks):
        text.append("  " if position else "")
        text.append(f"{letter[task.label].upper()} {task.label}", style=colours[task.label])
    return text.append("  (capital: learned; small, or ░ for several: evaluated)", style="dim")


def _colours(scenario: Scenario) -> dict[str, str]:
    return {task.label: _COLOURS[position % len(_COLOURS)] for position, task in enumerate(scenario.tasks)}
