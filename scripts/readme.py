"""The README's picture and table, from the demo's own logs: `make demo`, then `python scripts/readme.py demo`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import perdure
from perdure.curves.build import curves
from perdure.stats.groups import groups

ROOT = Path(__file__).parents[1]
LEARNERS = ("naive", "replay")
MADE = re.compile(r"(?<=<!-- made by scripts/readme.py -->\n).*?(?=\n<!-- to here -->)", re.DOTALL)

PALETTE = ("#0072b2", "#d55e00", "#009e73")  # Okabe and Ito 2008
WIDTH, HEIGHT, LEFT, TOP = 420, 190, 34, 34


def panel(life: Path, title: str, offset: int, colours: dict[str, str]) -> str:
    """One life: learning curves by task, dots where the task was evaluated."""
    prepared = curves(perdure.read(life), perdure.Prep(scale="none"))
    blocks = prepared.scenario.blocks
    total = sum(block.length or 0 for block in blocks if block.mode == "learn")
    scale = (WIDTH - LEFT - 12) / total
    parts = [f'<text x="{offset + LEFT}" y="20" font-weight="600">{title}</text>']
    learned = 0
    dots: dict[str, list[tuple[float, float]]] = {}
    for index, block in enumerate(blocks):
        values = prepared.over((index,)).values
        colour = colours[block.task]
        if block.mode == "learn":
            x = offset + LEFT + learned * scale
            wide = len(values) * scale
            size = f'width="{wide:.1f}" height="{HEIGHT - TOP - 20}"'
            parts.append(f'<rect x="{x:.1f}" y="{TOP}" {size} fill="{colour}" opacity="0.08"/>')
            points = " ".join(f"{x + at * scale:.1f},{height(value):.1f}" for at, value in enumerate(values))
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" opacity="0.6"/>'
            )
            learned += len(values)
        else:
            dots.setdefault(block.task, []).append((offset + LEFT + learned * scale, height(float(values.mean()))))
    for task, places in dots.items():
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colours[task]}" stroke-width="2" stroke-dasharray="4 3"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colours[task]}"/>' for x, y in places]
    parts.append(f'<text x="{offset + LEFT}" y="{HEIGHT - 4}" fill="#666">learning experiences →</text>')
    return "\n".join(parts)


def height(value: float) -> float:
    """Where an accuracy between 0 and 1 is drawn."""
    return HEIGHT - 22 - value * (HEIGHT - TOP - 26)


def table(demo: Path) -> str:
    """What performance maintenance comes to for both learners, by type of scenario, and the word for it."""
    found = {(one.learner, one.scenario_type): one for one in groups(perdure.survey(demo / "digits"))}
    kinds = sorted({str(kind) for _, kind in found})
    lines = ["| | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for learner in LEARNERS:
        cells = []
        for kind in kinds:
            one = found[learner, kind].estimates["performance_maintenance"]
            cells.append(f"{one.mean:.1f} [{one.low:.1f}, {one.high:.1f}]: {one.word}".replace("-", "−"))
        lines.append(f"| {learner} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(demo: Path) -> str:
    """Two panels side by side, with a legend."""
    forgets, keeps = (demo / "digits" / learner / "lives" / "life-000" for learner in LEARNERS)
    tasks = sorted(task.label for task in perdure.read(forgets).scenario.tasks)
    colours = dict(zip(tasks, PALETTE, strict=True))
    legend = "".join(
        f'<circle cx="{46 + 130 * at}" cy="{HEIGHT + 14}" r="4.5" fill="{colour}"/>'
        f'<text x="{56 + 130 * at}" y="{HEIGHT + 18}">{task}</text>'
        for at, (task, colour) in enumerate(colours.items())
    )
    note = f'<text x="{56 + 130 * 3}" y="{HEIGHT + 18}" fill="#666">accuracy; lines: learning · dots: evaluation</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT + 28}" '
        'font-family="system-ui, sans-serif" font-size="12" role="img" '
        'aria-label="Two learners over three tasks: one forgets each task as the next is learned, one keeps them">\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
        + panel(forgets, "naive: what was learned falls as the next is learned", 0, colours)
        + panel(keeps, "replay: what was learned stays", WIDTH, colours)
        + legend
        + note
        + "\n</svg>\n"
    )


def main() -> None:
    """Put both in their places."""
    demo, readme = Path(sys.argv[1]), ROOT / "README.md"
    (ROOT / "docs" / "picture.svg").write_text(picture(demo), encoding="utf-8")
    made = table(demo)
    readme.write_text(MADE.sub(lambda _: made, readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
