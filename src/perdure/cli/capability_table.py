"""The Core Capabilities of 2019 on a terminal: scores, and the questions behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.text import number

if TYPE_CHECKING:
    from perdure.gather.model import Survey


def show_capabilities(scores: Survey) -> None:
    """Print each learner's score in each capability, and what answers for it."""
    from rich.table import Table
    from rich.text import Text

    from perdure.cli.console import Console
    from perdure.stats.capabilities import capabilities

    found = capabilities(scores)
    console = Console(highlight=False)
    for learner in dict.fromkeys(one.learner for one in found):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column(f"Core Capabilities of {learner}")
        table.add_column("metric", no_wrap=True)
        table.add_column("score", justify="right", no_wrap=True)
        for one in (each for each in found if each.learner == learner):
            score = "–" if one.score is None else number(one.score)
            among = f"{len(one.syllabi)} syllab{'us' if len(one.syllabi) == 1 else 'i'}"
            said = one.why or f"mean of {among}, relative to experts"
            table.add_row(Text(f"{one.name}: {said}", "bold" if one.syllabi else "dim"), "", score)
            for answer in one.answers:
                table.add_row(Text(f"  {answer.question}"), answer.metric, number(answer.value))
        console.print(table)
