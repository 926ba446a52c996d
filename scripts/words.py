"""Warn about patterns that the style guide bans, in the lines that this branch adds.

    python scripts/words.py [BASE]     # BASE is main by default

It prints `file:line: pattern` and always exits with 0.
"""

from __future__ import annotations

import re
import subprocess
import sys

PATTERNS = {
    "'what' as a noun": r"\b[Ww]hat (is|was|are|were|it|they|a|the)\b",
    "'where' for if": r"\bwhere (there is|it is|nothing|none|nobody|one is)\b",
    "'is no' for is not a": r"\bis no (?!longer\b)\w",
    "speech verb": r"\b(said|told)\b",
    "beside, held against, anew, alike": r"\b(beside|held against|anew|alike|one's own|nobody|somebody)\b",
    "docstring without a verb": r'^\s+"""(What|How|Of)\b.*"""$',
    "local without a meaning": r"\bfor one in\b|^\s+(made|found|told|said|there|kept|at) = ",
}


def main(base: str) -> None:
    command = ["git", "diff", "--unified=0", "--merge-base", base, "--", "*.py", "*.md"]
    # A shallow clone has no BASE; then there is nothing to compare.
    diff = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    file, line = "", 0
    for text in diff.splitlines():
        if text.startswith("+++ "):
            file = text.removeprefix("+++ b/")
        elif start := re.match(r"@@ -\S+ \+(\d+)", text):
            line = int(start[1])
        elif text.startswith("+"):
            if file != "scripts/words.py":
                for name, pattern in PATTERNS.items():
                    if re.search(pattern, text[1:]):
                        print(f"{file}:{line}: {name}: {text[1:].strip()[:80]}")
            line += 1


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "main")
