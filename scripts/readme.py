"""Write the README's picture and table from the demo's logs: `make demo`, then `python scripts/readme.py demo`."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import perdure
from perdure.stats.groups import groups

ROOT = Path(__file__).parents[1]
LEARNERS = ("naive", "replay")
MADE = re.compile(r"(?<=<!-- made by scripts/readme.py -->\n).*?(?=\n<!-- to here -->)", re.DOTALL)

WIDTH, HEIGHT = 1300, 1000
"""Of the screen."""


def table(demo: Path) -> str:
    """Return the table: performance maintenance of both learners by scenario type, with its verdict."""
    by_group = {(group.learner, group.scenario_type): group for group in groups(perdure.survey(demo / "digits"))}
    kinds = sorted({str(kind) for _, kind in by_group})
    lines = ["| | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for learner in LEARNERS:
        cells = []
        for kind in kinds:
            estimate = by_group[learner, kind].estimates["performance_maintenance"]
            cells.append(
                f"{estimate.mean:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]: {estimate.word}".replace("-", "−")
            )
        lines.append(f"| {learner} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(demo: Path, to: Path) -> None:
    """Take a screenshot of the first screen of a report of both learners."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as browsers:
        page = Path(folder) / "report.html"
        runs = [demo / "digits" / learner for learner in LEARNERS]
        perdure.report(runs, page, title="naive and replay: do they keep what they learn?")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        opened.goto(page.as_uri())
        deep = opened.evaluate("document.querySelector('.tasks').getBoundingClientRect().bottom")
        opened.screenshot(path=to, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": deep + 12})
        browser.close()


def main() -> None:
    """Write the table and the picture."""
    demo, readme = Path(sys.argv[1]), ROOT / "README.md"
    picture(demo, ROOT / "docs" / "report.png")
    content = table(demo)
    readme.write_text(MADE.sub(lambda _: content, readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
