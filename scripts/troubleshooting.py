"""Build the troubleshooting page. Each error message is provoked when the page is built, so none is out of date."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

__all__ = ["CASES", "Case", "said", "troubleshooting"]


@dataclass(frozen=True)
class Case:
    """A mistake: the command and the advice."""

    title: str
    typed: str
    """Arguments of `perdure`, or Python after `>>> `."""
    help: str
    files: Mapping[str, str] = field(default_factory=dict)


_PROTOCOL = """{key} = 3
learner = {{ use = "{learner}" }}
[[scenarios]]
layout = "condensed"
tasks = ["pong", "breakout"]
learn = 2
evaluate = 2
"""
_RECORD = 'block_num={block}, exp_num={exp}, block_type="train", task_name="pong", reward={reward}'
_JOURNAL = '>>> with perdure.Journal("logs", "{name}") as journal:\n'
_LOG = f"...     journal.log({_RECORD})\n"


def _logged(name: str, *records: tuple[int, int, str]) -> str:
    lines = [_LOG.format(block=block, exp=exp, reward=reward) for block, exp, reward in records]
    return _JOURNAL.format(name=name) + "".join(lines)


CASES = (
    Case(
        "The path is wrong",
        "score lgos",
        "Nothing lies there. Paths are taken from the folder you are in; a bare name is also looked for under "
        "`$L2DATA/logs`.",
    ),
    Case(
        "The folder holds no log",
        "score empty",
        "Give the folder that holds the lifetimes, not one beside it. What is read is said in [readers](readers.md).",
        {"empty/notes.txt": "nothing yet\n"},
    ),
    Case(
        "A table without a task or a mode",
        "score runs.csv",
        "Say which of your columns they are: `--column task_name=env --column block_type=phase`. "
        "[Read your own tables](../how-to/read-tables.md).",
        {"runs.csv": "env,phase,ep_return\nPong,train,1\nPong,eval,2\n"},
    ),
    Case(
        "A mode that is neither learning nor evaluation",
        "score modes.csv",
        "Call modes train or test (learn, eval, … are understood), and leave out rows that are neither.",
        {"modes.csv": "task_name,block_type,reward\npong,warmup,1\npong,train,2\n"},
    ),
    Case(
        "A cell that is no number",
        "score broken.csv",
        "The line is the file's. Leave a cell empty where there is no value; NaN and nothing are counted, not scored.",
        {"broken.csv": "task_name,block_type,reward\npong,train,1\npong,train,high\n"},
    ),
    Case(
        "A measure that was not logged",
        "score logs/seed-0 --measure rewards",
        "`--measure` takes a column of the log.",
    ),
    Case(
        "A metric that does not exist",
        "score logs/seed-0 --metrics performance_maintenence",
        "`perdure list metrics` has all ids; short names such as PM, FT, BWT are taken too.",
    ),
    Case("A preset that does not exist", "score logs/seed-0 --preset l2metrics", "`perdure list presets` has all."),
    Case(
        "An option that a preset fixes",
        "score logs/seed-0 --preset baker-2023 --aggregate median",
        "A preset stands for a document, so that its numbers mean one thing. Leave the option out, or the preset "
        "([what each fixes](presets.md)).",
    ),
    Case(
        "A matrix that does not say which way round it is",
        "score full.csv",
        "With every cell filled, nothing tells rows from columns. Say `--rows evaluated` (row i is task i) or "
        "`--rows learned`. "
        "[Which way round?](../how-to/score-an-accuracy-matrix.md#which-way-round)",
        {"full.csv": "90,60,50\n20,80,70\n10,30,90\n"},
    ),
    Case(
        "Accuracies in no unit",
        "score rewards.csv",
        "Values above 100 or below 0 are no accuracies. `--unit raw` takes any numbers.",
        {"rewards.csv": "900,600,500\n,800,700\n,,900\n"},
    ),
    Case(
        "The lifetime exists already",
        _logged("seed-0", (0, 0, "1.0")),
        "A journal never writes over another. Choose another name, or remove the folder; `join=True` is for "
        "further workers of the same lifetime.",
    ),
    Case(
        "Numbers that decrease",
        _logged("a", (1, 0, "1.0"), (0, 1, "1.0")),
        "`block_num` and `exp_num` count up over the whole lifetime; do not begin again at 0 with each block.",
    ),
    Case(
        "A reward that is infinite",
        _logged("b", (0, 0, 'float("inf")')),
        "Something diverged. Log None where there is no value. The record was not written; those before it are safe.",
    ),
    Case(
        "Columns that change",
        _logged("c", (0, 0, "1.0"), (0, 1, "1.0, steps=3")),
        "Every record has the same further columns. Log None where one has nothing to say.",
    ),
    Case(
        "The log was altered",
        "score altered",
        "The ledger beside a journal's log says what was written. Find out who changed it; `--unverified` "
        "scores it nevertheless, and says so.",
    ),
    Case(
        "A kind of figure that does not exist",
        "figure lifetme logs/seed-0",
        "`perdure figure list`, or the [gallery](gallery.md).",
    ),
    Case("A form that figures do not have", "figure lifetime logs/seed-0 --to life.jpg", "PNG, SVG or PDF."),
    Case("A form that reports do not have", "report logs/seed-0 --to report.docx", "HTML opens in any word processor."),
    Case(
        "A syllabus that is no JSON",
        "lint syllabus.json",
        "The line and column are where reading stopped; the mistake is there or just before. [Write a "
        "syllabus](../how-to/write-a-syllabus.md).",
        {"syllabus.json": '{"instructions": [\n  {"$phase": "1.train"}\n  {"$phase": "1.test"}\n]}\n'},
    ),
    Case(
        "A key that protocols do not have",
        "run wrong.toml --into runs --dry-run",
        "Misspelt keys are refused, not ignored. [Run a protocol](../how-to/run-a-protocol.md).",
        {"wrong.toml": _PROTOCOL.format(key="lifetime", learner="q-learning-per-task")},
    ),
    Case(
        "A learner that is not found",
        "run lost.toml --into runs --dry-run",
        "`perdure list learners` has those that come with Perdure; `module:Class` is looked for beside the protocol.",
        {"lost.toml": _PROTOCOL.format(key="lifetimes", learner="keping-q")},
    ),
    Case(
        "Nothing to compare with",
        "compare logs/seed-0",
        "Give two folders, or one that holds two learners. [Compare two learners](../how-to/compare-two-learners.md).",
    ),
)
"""In the order of the page: reading, choosing, matrices, writing, drawing, running."""

_HEAD = """# Troubleshooting

By message; every one here was provoked when this page was made. A message says what is wrong, where, what was found
and what to do. Search for the words that do not depend on your files.

Exit status 0: all was answered; 1: something was left out, and it is said what; 2: nothing could be done. A Python
traceback from the command is a fault of Perdure's: please report it.
"""


def troubleshooting() -> str:
    """Return the page."""
    parts = [_HEAD]
    for case, text in said():
        command = case.typed.rstrip("\n") if case.typed.startswith(">>>") else f"$ perdure {case.typed}"
        wrapped = fill(text, 100, break_long_words=False, break_on_hyphens=False)
        parts.append(f"\n## {case.title}\n\n```text\n{command}\n{wrapped}\n```\n\n{case.help}\n")
    return "".join(parts)


def said() -> list[tuple[Case, str]]:
    """Yield each case with the message that it provokes."""
    with TemporaryDirectory() as temporary, chdir(temporary):
        _a_log("logs/seed-0")
        _a_log("altered")
        data = next(Path("altered").rglob("2-train/data-log.tsv"))
        data.write_text(data.read_text().replace("\t1.0", "\t9.0"))
        for case in CASES:
            for name, text in case.files.items():
                Path(name).parent.mkdir(exist_ok=True)
                Path(name).write_text(text)
        return [(case, _provoked(case)) for case in CASES]


def _provoked(case: Case) -> str:
    from typer.testing import CliRunner

    import perdure
    from perdure.cli import VERBS
    from perdure.cli.app import application

    if case.typed.startswith(">>>"):
        lines = [line[4:] for line in case.typed.splitlines()]
        try:
            exec("\n".join(lines), {"perdure": perdure})
        except perdure.PerdureError as problem:
            return f"{type(problem).__name__}: {problem}"
        raise AssertionError(f"nothing went wrong: {case.title}")
    answer = CliRunner(env={"L2DATA": "l2data"}).invoke(application(VERBS), case.typed.split())
    if not answer.exit_code:
        raise AssertionError(f"nothing went wrong: {case.title}")
    if isinstance(answer.exception, perdure.PerdureError):
        return f"perdure: {answer.exception}"
    return answer.output.strip()


def _a_log(path: str) -> None:
    """Write a log of two tasks, evaluated before, between and after learning."""
    import perdure

    evaluations = [("test", task) for task in ("pong", "breakout")]
    plan = [*evaluations, ("train", "pong"), *evaluations, ("train", "breakout"), *evaluations]
    place, number = Path(path), 0
    with perdure.Journal(place.parent, place.name, learner="mine", seed=0) as journal:
        for block, (mode, task) in enumerate(plan):
            for index in range(5):
                journal.log(block_num=block, exp_num=number, block_type=mode, task_name=task, reward=float(index))
                number += 1
