"""Mutation testing: change one place of the code at a time and check that a test of that line fails.

`python scripts/mutants.py --count 300` takes hours of processor time and is never part of CI. The tests run once under
coverage; then each mutant is tried against the tests of its line, the quickest first, for at most a minute. A mutant
that no test runs counts as survived. Needs `pip install coverage`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "perdure"
ROOMS = ("curves", "metrics", "gather", "stats", "log", "runner/job.py", "runner/seeds.py", "runner/resume.py")
TESTS = (
    "curves",
    "metrics",
    "gather",
    "stats",
    "log",
    "runner",
    "documents",
    "classic/matrix",
    "settings",
    "cli",
    "test_verbs.py",
    "verbs",
)
SECONDS = 60

COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
            ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
COMBINED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.BitAnd: "|", ast.BitOr: "&"}
CALLED = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}


@dataclass(frozen=True)
class Mutant:
    """One change: file, line, text before and after."""

    file: str
    line: int
    before: str
    after: str
    start: int
    end: int


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every possible mutant of a file. Annotations, `__all__` and messages are not changed."""
    text = file.read_text()
    data = text.encode()
    starts = [0]
    for row in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))

    def span(node: ast.AST) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def changed(node: ast.AST, after: str) -> Mutant:
        start, end = span(node)
        return Mutant(str(file.relative_to(SOURCE)), node.lineno, data[start:end].decode(), after, start, end)  # type: ignore[attr-defined]

    for node in _live(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield changed(node, f"({left} {COMPARED[type(node.ops[0])]} {right})")
        elif isinstance(node, ast.BinOp) and type(node.op) in COMBINED:
            yield changed(node, f"({ast.unparse(node.left)} {COMBINED[type(node.op)]} {ast.unparse(node.right)})")
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield changed(node, f"({word.join(f'({ast.unparse(value)})' for value in node.values)})")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield changed(node, f"({ast.unparse(node.operand)})")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield changed(node, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield changed(node, repr(node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.1))
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield changed(node.test, f"(not ({ast.unparse(node.test)}))")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLED and node.args:
            yield changed(node.func, CALLED[node.func.id])


def _live(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that influence what the code does."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield node.value
                yield from _live(node.value)
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("dataclass", "field"):
            continue  # behaviour does not depend on frozen
        if isinstance(node, ast.FunctionDef):
            for part in (*node.body, *node.args.defaults, *(default for default in node.args.kw_defaults if default)):
                yield part
                yield from _live(part)
            continue
        yield node
        yield from _live(node)


def covered(into: Path, jobs: int) -> None:
    """Run the tests once under coverage; store in `into` which test runs which line, and its duration."""
    parts = [[test for index, test in enumerate(TESTS) if index % jobs == part] for part in range(jobs)]
    (into / "rc").write_text("[run]\ndynamic_context = test_function\nsource = perdure\n")

    def ran(part: int) -> None:
        subprocess.run(
            [sys.executable, "-m", "coverage", "run", f"--rcfile={into / 'rc'}", f"--data-file={into / str(part)}.db"]
            + ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--junitxml={into / str(part)}.xml"]
            + [str(ROOT / "tests" / test) for test in parts[part]],
            cwd=ROOT,
            env={**os.environ, "CI": "1"},
            check=False,
        )

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(ran, range(jobs)))


def tests_by_line(coverage_folder: Path) -> tuple[dict[tuple[str, int], set[str]], dict[str, float]]:
    """Return (file, line) → tests that run it, and test → seconds."""
    from coverage import CoverageData

    lines: dict[tuple[str, int], set[str]] = {}
    seconds: dict[str, float] = {}
    for base in coverage_folder.glob("*.db"):
        data = CoverageData(str(base))
        try:
            data.read()
        except sqlite3.Error:
            continue
        for file in data.measured_files():
            place = str(Path(file).relative_to(SOURCE)) if Path(file).is_relative_to(SOURCE) else ""
            for line, contexts in data.contexts_by_lineno(file).items():
                lines.setdefault((place, line), set()).update(_test(context) for context in contexts if context)
    for file in coverage_folder.glob("*.xml"):
        for case in ET.parse(file).iter("testcase"):
            name = _test(f"{case.get('classname')}.{str(case.get('name')).partition('[')[0]}")
            seconds[name] = seconds.get(name, 0.0) + float(case.get("time", 0))
    return lines, seconds


def _test(context: str) -> str:
    module, _, name = context.rpartition(".")
    return f"{module.replace('.', '/')}.py::{name}"


def tried(mutant: Mutant, tests: list[str], tree: Path) -> str:
    """Run `tests` on a mutant in a copy of the code; return killed, slow (over a minute), survived or unrun."""
    if not tests:
        return "unrun"
    file = tree / "src" / "perdure" / mutant.file
    content = file.read_bytes()
    file.write_bytes(content[: mutant.start] + mutant.after.encode() + content[mutant.end :])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "slow"
    finally:
        file.write_bytes(content)
    return "survived" if done.returncode == 0 else "killed"


def main() -> None:
    """Try `--count` mutants and print how many were killed and which survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="a folder for coverage, used again where it is there")
    parser.add_argument("--json", type=Path, help="where each mutant and its fate is written")
    parser.add_argument("--again", type=Path, help="try those again that such a file says were not noticed")
    options = parser.parse_args()
    coverage_folder = options.kept or Path(tempfile.mkdtemp())
    coverage_folder.mkdir(parents=True, exist_ok=True)
    if not list(coverage_folder.glob("*.db")):
        covered(coverage_folder, options.jobs)
    lines, seconds = tests_by_line(coverage_folder)
    files = [
        file for room in ROOMS for file in sorted((SOURCE / room).rglob("*.py") if "." not in room else [SOURCE / room])
    ]
    every = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    if options.again:
        rows = json.loads(options.again.read_text())
        left = [row for row in rows if row.pop("fate") not in ("killed", "slow")]
        chosen = [Mutant(**row) for row in left]
    by_file: dict[str, set[str]] = {}
    for (file, _), tests in lines.items():
        by_file.setdefault(file, set()).update(tests)
    trees: SimpleQueue[Path] = SimpleQueue()
    for _ in range(options.jobs):
        tree = Path(tempfile.mkdtemp()) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "site", "demo", "__pycache__"))
        trees.put(tree)

    def fate(mutant: Mutant) -> str:
        tree = trees.get()
        try:
            # Coverage assigns code that runs on import to no test: use all tests that run the file.
            candidates = lines.get((mutant.file, mutant.line)) or by_file.get(mutant.file, set())
            tests = sorted(candidates, key=lambda test: seconds.get(test, 1.0))
            fate = tried(mutant, _affordable(tests, seconds), tree)
        finally:
            trees.put(tree)
        print(f"{fate:9} {mutant.file}:{mutant.line}  {mutant.before[:60]!r} → {mutant.after[:60]!r}", flush=True)
        return fate

    with ThreadPoolExecutor(options.jobs) as pool:
        fates = list(pool.map(fate, chosen))
    counts = Counter(fates)
    noticed = counts["killed"] + counts["slow"]
    print(f"\n{len(every)} places; {len(chosen)} mutants: {dict(counts)}; {noticed / len(chosen):.1%} noticed")
    if options.json:
        rows = [{**asdict(mutant), "fate": fate} for mutant, fate in zip(chosen, fates, strict=True)]
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _affordable(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Return the quickest tests that fit into the time."""
    chosen, spent = [], 0.0
    for test in tests:
        spent += seconds.get(test, 1.0)
        if spent > SECONDS * 0.6 and chosen:
            break
        chosen.append(test)
    return chosen


if __name__ == "__main__":
    main()
