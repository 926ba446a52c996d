"""Record what every verb prints, so that two versions of Perdure can be compared.

    python scripts/baseline.py record OLD      # with the first version installed
    python scripts/baseline.py record NEW      # with the second version installed
    python scripts/baseline.py compare OLD NEW # status 1 and a diff if anything differs

The commands cover the demo, `examples/`, the code blocks of the docs, and the reference data next to the
repository (left out if absent). Times, dates, temporary paths and addresses are masked.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
PERDURE = Path(sys.executable).parent / "perdure"
MASKS = (
    (re.compile(r"\d{8}T\d{6}(\.\d+)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?( UTC)?"), "<time>"),
    (re.compile(r"\b\d+ min(utes?)?( \d+ s)?|\b\d+(\.\d+)? (s|ms|seconds?|hours?)\b"), "<duration>"),
    (re.compile(r"(\"(elapsed|seconds|duration|wall|cpu)[a-z_]*\": *)[\d.e+-]+"), r"\1<duration>"),
    (re.compile(r"http://127\.0\.0\.1:\d+\S*"), "<address>"),
    (re.compile(r"\bperdure 0\.[\w.+-]+"), "perdure <version>"),
)
TIMESTAMP = re.compile(rb"\d{8}T\d{6}\.\d+")


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which output does not depend on the machine or the terminal."""
    return {
        **os.environ,
        "PATH": f"{PERDURE.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "L2DATA": str(home / "l2data"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def masked(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "<folder>").replace(str(ROOT), "<root>")
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    return text


def run(command: str, folder: Path, timeout_s: int = 600) -> str:
    """Run one command line; return its status, stdout and stderr as one masked text."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
    parts = (f"$ {command}\n", f"--- status {done.returncode}\n", done.stdout, "--- stderr\n", done.stderr)
    return masked("".join(parts), folder)


def prepare(folder: Path) -> dict[str, str]:
    """Write the inputs into `folder`; return the texts that preparing them printed."""
    printed = {"demo": run("perdure demo --into demo", folder)}
    shutil.copytree(ROOT / "examples", folder / "examples")
    readme = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert readme, "README.md has no Python block"
    subprocess.run([sys.executable, "-c", readme[1]], cwd=folder, check=True, capture_output=True)
    if SHARED.is_dir():
        shutil.copytree(SHARED, folder / "data")
    printed["records"] = "".join(records(folder / "demo"))
    return printed


def records(folder: Path) -> Iterator[str]:
    """Yield a line per data file of a run: its name and a digest of its records without their timestamps."""
    for file in sorted(folder.rglob("data-log.tsv")):
        content = TIMESTAMP.sub(b"", file.read_bytes())
        yield f"{file.relative_to(folder)} {hashlib.sha256(content).hexdigest()[:16]}\n"


def command_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a name and a command line for every output to record."""
    for kind in ("metrics", "presets", "readers", "tasks", "learners", "layouts"):
        yield f"list-{kind}", f"perdure list {kind} && perdure list {kind} --json -"
    for preset in ("standard", "new-2022", "baker-2023", "l2metrics-3.1", "framework-2019"):
        yield f"list-metrics-{preset}", f"perdure list metrics --preset {preset}"
        yield (
            f"score-{preset}",
            f"perdure score logs --preset {preset} --all --why && perdure score logs --preset {preset} --json -",
        )
        yield f"score-demo-{preset}", f"perdure score demo --preset {preset} --json -"
    yield "info", "perdure info --get version; perdure info --get logdir"
    yield "score", "perdure score logs --over-time"
    yield "score-demo", "perdure score demo --all --why"
    yield "score-out", "perdure score logs --out out && ls out && cat out/*.json out/*.[ct]sv"
    yield "score-options", "perdure score logs --window 5 --aggregate median --scale none --json -"
    yield "compare", "perdure compare demo && perdure compare demo --json -"
    yield "compare-order", "perdure compare demo --order --paired no"
    yield "correlate", "perdure correlate demo && perdure correlate demo --json -"
    yield "plan", "perdure plan && perdure plan --json -"
    yield "plan-pilot", "perdure plan --pilot demo --detect performance_maintenance=5"
    yield "plan-protocol", "perdure plan --protocol examples/protocols/split-digits.toml"
    reports = " && ".join(f"perdure report logs --to r.{suffix}" for suffix in ("html", "md", "tex", "json"))
    yield "report", f"{reports} && cat r.md r.tex r.json r.html"
    yield "report-demo", "perdure report demo --to d.md && perdure report demo --to d.json && cat d.md d.json"
    yield "watch", "perdure watch logs --once && perdure watch logs --once --json - && perdure watch demo --once"
    yield "check", "perdure check logs/seed-0 && perdure check logs/seed-0 --json -"
    yield "export", "perdure export logs/seed-0 --to e.csv && perdure export logs/seed-0 --to e.tsv && cat e.csv e.tsv"
    yield "export-learnkit", "perdure export logs/seed-0 --to learnkit --into k && perdure score k/logs/* --json -"
    for suffix in ("csv", "tsv", "parquet", "arrow"):
        table = f"t.{suffix}"
        written = f"perdure export logs/seed-1 --to {table}"
        yield f"score-table-{suffix}", f"{written} && perdure score {table} --json -; perdure check {table}"
    listed = subprocess.run([PERDURE, "figure", "list"], capture_output=True, text=True, check=True).stdout
    for kind in re.findall(r"^[a-z-]+", listed, re.MULTILINE):
        yield f"figure-{kind}", f"perdure figure {kind} logs --to f-{kind}.svg && cat f-{kind}.svg"
    for layout in ("condensed", "dispersed", "alternating", "permuted", "ant-a", "ant-b", "ant-c"):
        yield f"compose-{layout}", f"perdure compose {layout} --task a --task b --learn 30 --seed 1"
    for file in sorted((folder / "examples").rglob("*.json")) + sorted((folder / "examples").rglob("*.toml")):
        if file.name != "pyproject.toml":
            path = file.relative_to(folder)
            yield f"lint-{path.stem}", f"perdure lint {path} && perdure lint {path} --json -"
    yield (
        "score-matrix",
        "perdure score examples/matrix/s002.csv --all && perdure score examples/matrix/s002.csv --json -",
    )
    yield "score-metric", "perdure score logs --metrics examples/metric/half_way.py"
    for case in sorted((folder / "data/cases").glob("c*")):
        logs = f"data/cases/{case.name}/ll/* --experts data/cases/{case.name}/ste"
        yield (
            f"case-{case.name}",
            f"perdure score {logs} --json -; perdure score {logs} --preset l2metrics-3.1 --json -",
        )
        yield f"case-check-{case.name}", f"for log in data/cases/{case.name}/ll/*; do perdure check $log; done"
    if (folder / "data").is_dir():
        logs = "data/l2metrics-examples/ll_logs/multi_task --experts data/l2metrics-examples/ste_logs"
        yield "l2metrics", f"perdure score {logs} --preset l2metrics-3.1 --all"
        yield "l2metrics-old", "perdure score data/l2metrics-examples/evaluation/ll_metrics.tsv"
    for number, damage in enumerate(DAMAGE):
        copy = f"x{number}"
        program = f"python - {copy} <<'END'\n{FIND}{damage}\nEND\n"
        checks = f"perdure score {copy}; perdure check {copy}/seed-0; perdure score {copy} --unverified"
        yield f"damaged-{number}", f"cp -r logs {copy} && {program}{checks}"


FIND = """
import pathlib, sys
f = sorted((pathlib.Path(sys.argv[1]) / "seed-0").rglob("data-log.tsv"))[1]
b = f.read_bytes()
"""
DAMAGE = (
    "f.write_bytes(b[:-3])",
    "f.write_bytes(b.replace(b'complete', b'done', 1))",
    "f.write_bytes(b.replace(b'\\t', b'', 1))",
    "f.unlink()",
    "lines = b.split(b'\\n'); lines[3] = lines[3] + b'\\tmore'; f.write_bytes(b'\\n'.join(lines))",
    "lines = b.split(b'\\n'); lines[2] = lines[2][::-1]; f.write_bytes(b'\\n'.join(lines))",
    "f.write_bytes(b + b'\\x00')",
    "(f.parents[2] / 'manifest.json').unlink()",
    "(f.parents[2] / 'blocks.jsonl').unlink(); f.write_bytes(b.replace(b'.', b'x', 3))",
)
"""Programs that damage a copy of the README's logs."""


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a name and a command line that runs the code blocks of each page."""
    sys.path.insert(0, str(ROOT / "tests"))
    docs = importlib.import_module("test_docs")
    for page in docs.PAGES:
        lines = ["import subprocess", "def show(line): print('$', line, flush=True); subprocess.run(line, shell=True)"]
        for kind, body in docs.blocks(page):
            if kind == "python":
                lines.append(body)
            elif kind.startswith("console"):
                lines += [f"show({command!r})" for command, _ in docs.commands(body)]
        if len(lines) > 2:
            name = str(page.relative_to(ROOT)).removesuffix(".md").replace("/", "-")
            place = folder / "pages" / name
            place.mkdir(parents=True)
            (place / "page.py").write_text("\n".join(lines))
            yield f"page-{name}", f"cd pages/{name} && {sys.executable} page.py"


def record(into: Path, jobs: int) -> None:
    into.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        for name, text in prepare(folder).items():
            (into / f"{name}.txt").write_text(text)
        work = [*command_lines(folder), *pages(folder)]
        with ThreadPoolExecutor(jobs) as pool:
            for (name, _), text in zip(work, pool.map(lambda item: run(item[1], folder), work), strict=True):
                (into / f"{name}.txt").write_text(text)
    print(f"{len(list(into.iterdir()))} outputs in {into}")


def compare(old: Path, new: Path) -> bool:
    """Print how two recordings differ; return whether they are equal."""
    names = sorted({file.name for folder in (old, new) for file in folder.iterdir()})
    different = 0
    for name in names:
        texts = [(folder / name).read_text() if (folder / name).exists() else "" for folder in (old, new)]
        if texts[0] == texts[1]:
            continue
        different += 1
        before, after = (text.splitlines() for text in texts)
        lines = list(difflib.unified_diff(before, after, f"old/{name}", f"new/{name}", lineterm="", n=1))
        print(*(line[:300] for line in lines[:40]), sep="\n")
        if len(lines) > 40:
            print(f"… {len(lines) - 40} more lines")
    print(f"{different} of {len(names)} outputs differ")
    return not different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="run every command and keep its output")
    recording.add_argument("into", type=Path)
    recording.add_argument("--jobs", type=int, default=2)
    comparing = verbs.add_parser("compare", help="show how two recordings differ")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args()
    if options.verb == "compare":
        return 0 if compare(options.old, options.new) else 1
    record(options.into, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
