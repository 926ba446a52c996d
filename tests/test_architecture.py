"""Architecture of the pipeline: which stage may import which, and the cost of an import."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import perdure
import perdure.errors
from perdure import METRICS
from perdure.metrics.presets import PRESETS
from perdure.settings import presets

SOURCE = Path(perdure.__file__).parent

# Each stage may import itself and the stages listed here; every stage may import the modules in EVERYONES.
MAY_IMPORT = {
    "settings": {"log", "curves"},
    "scenario": set(),
    "log": {"scenario"},
    "tasks": {"scenario", "log"},
    "learners": {"scenario", "log", "tasks"},
    "runner": {"scenario", "log", "tasks", "learners"},
    "curves": {"scenario", "log"},
    "metrics": {"scenario", "log", "curves"},
    "gather": {"scenario", "log", "curves", "metrics", "runner"},  # runner: what a folder's protocol plans
    "stats": {"scenario", "log", "curves", "metrics", "gather"},
    "reports": {"scenario", "log", "curves", "metrics", "gather", "stats"},
    "watch": {"scenario", "log", "curves", "metrics", "gather", "stats", "reports"},
}
EVERYONES = {
    "cluster",
    "errors",
    "files",
    "lazy",
    "registry",
    "results",
    "sample_size",
    "settings",
    "stopping",
    "tables",
    "text",
}
EXTENSIONS = ("classic", "batched", "integrations")
PUBLIC = {*EXTENSIONS, "learners", "log", "metrics", "reports", "scenario", "simulate", "tasks", "testing"}
"""Modules from which pages and examples may import, besides `perdure`: contracts of plug-ins, and packages."""
DEEPER = ("perdure.classic.", "perdure.integrations.", "perdure.batched.learners", "perdure.batched.tasks")
ROOT = Path(__file__).parent.parent
SHOWN = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py"), *ROOT.glob("examples/**/*.md"), ROOT / "README.md"]
MODULES = [name for _, name, _ in pkgutil.walk_packages([str(SOURCE)], "perdure.") if not name.endswith("__main__")]


def imported_stages(file: Path) -> set[str]:
    """Return the stages of perdure that a file imports, at its head or inside a function."""
    result = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "perdure" else [f"perdure.{name.name}" for name in node.names]
        result |= {name.split(".")[1] for name in names if name.startswith("perdure.")}
    return result


@pytest.mark.parametrize("stage", MAY_IMPORT)
def test_a_stage_imports_only_earlier_stages(stage: str) -> None:
    for file in (SOURCE / stage).rglob("*.py"):
        strangers = imported_stages(file) - MAY_IMPORT[stage] - EVERYONES - {stage}
        strangers -= {"__version__"}
        assert not strangers, f"{file.relative_to(SOURCE)} imports {strangers}"


def test_only_the_api_and_the_command_line_import_an_extension() -> None:
    may = {*EXTENSIONS, "cli", "api.py"}
    result = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in may and imported_stages(file) & set(EXTENSIONS)
    }
    assert not result


def import_or_skip(name: str) -> ModuleType:
    """Import a module, or skip the test if the module needs an extra that is missing."""
    if name.startswith("perdure.learners.torch."):
        pytest.importorskip("torch", reason="torch is an extra")
    if name == "perdure.integrations.sb3":
        pytest.importorskip("stable_baselines3", reason="stable-baselines3 is an extra")
    try:
        return importlib.import_module(name)
    except perdure.errors.MissingExtraError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_a_one_line_summary(name: str) -> None:
    docstring = import_or_skip(name).__doc__
    assert docstring, f"{name} has no docstring"
    assert len(docstring.strip().splitlines()[0]) > 15


def _modules_loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_command_line_imports_nothing_heavy() -> None:
    heavy = {"scipy", "matplotlib", "plotly", "vl_convert", "gymnasium", "polars", "numpy"}
    assert not _modules_loaded_by("from perdure.cli.app import application; application()") & heavy


@pytest.mark.parametrize("stub", list(SOURCE.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name)
def test_the_stub_lists_the_names_that_load_on_first_use(stub: Path) -> None:
    package = importlib.import_module(".".join(("perdure", *stub.parent.relative_to(SOURCE).parts)))
    results: dict[str, object] = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            home = importlib.import_module(f".{node.module}", package.__name__)
            results |= {str(name.asname): getattr(home, name.name) for name in node.names}
    assert results.keys() == set(package.__all__)
    assert all(getattr(package, name) is thing for name, thing in results.items())


def _python_in(file: Path) -> str:
    """Return the Python code of a file; for a page, the code in its blocks."""
    text = file.read_text()
    return text if file.suffix == ".py" else "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: str(file.relative_to(ROOT)))
def test_examples_for_users_import_only_public_names(file: Path) -> None:
    deeper = [
        name
        for name in re.findall(r"^\s*(?:from|import) (perdure\.[\w.]+)", _python_in(file), re.MULTILINE)
        if name.split(".")[1] not in PUBLIC or (name.count(".") > 1 and not name.startswith(DEEPER))
    ]
    assert not deeper


def test_importing_perdure_does_nothing() -> None:
    assert not _modules_loaded_by("import perdure") & {"polars", "numpy", "typer", "rich"}


def test_every_verb_has_a_help_text_that_ends_with_an_example() -> None:
    from typer.testing import CliRunner

    from perdure.cli import VERBS
    from perdure.cli.app import application

    for verb in VERBS:
        result = CliRunner().invoke(application(), [verb, "--help"])
        assert result.exit_code == 0, verb
        assert "Example: perdure" in result.output, verb


WORDS = {"fix", "flag", "message", "note", "problem", "reason", "said", "warning", "what", "why", "withheld", "word"}
TAKEN_APART = {"endswith", "partition", "removeprefix", "removesuffix", "rpartition", "split", "startswith"}
THEIRS = {
    "files.py": "Python's reader of TOML says the line in its message alone, before 3.14",
    "batched/devices.py": "JAX says in its message alone that memory does not suffice",
    "runner/lifetime.py": "NumPy says in its message alone that an array is read-only",
    "results.py": "msgspec gives the place of a wrong value only in its message",
    "runner/engines/local.py": "the output of a crashed process",
}


def _is_prose(node: ast.expr) -> bool:
    """Return whether an expression is text for users: an error as text, or a name that such text goes by."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return _is_prose(node.args[0])
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in WORDS


def _contains_letters(node: ast.expr) -> bool:
    """Return whether a search text contains letters, unlike `--` or a comma."""
    return not isinstance(node, ast.Constant) or any(character.isalpha() for character in str(node.value))


def _parses_prose(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner, does = node.func.value, node.func.attr
        searched = does in ("findall", "fullmatch", "match", "search", "sub") and any(map(_is_prose, node.args))
        return searched or (does in TAKEN_APART and _is_prose(owner) and _contains_letters(node.args[0]))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return isinstance(node.left, ast.Constant) and _contains_letters(node.left) and _is_prose(node.comparators[0])
    return False


def test_no_code_parses_messages_for_users() -> None:
    result = {
        f"{file.relative_to(SOURCE).as_posix()}:{getattr(node, 'lineno', 0)}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if file.relative_to(SOURCE).as_posix() not in THEIRS and _parses_prose(node)
    }
    assert not result, f"errors have file, line, what and fix; notes and flags know their kind: {sorted(result)}"


PLACE = re.compile(r"((the |a )?\w* ?\{\}|--\S+( \{\})?): ")
"""Matches a text that begins with a place: a file, lifetime, task, block or option."""


def _error_names() -> set[str]:
    """Return the names of all errors of Perdure that have `what` and `fix`."""
    result = {
        name for name, thing in vars(perdure.errors).items() if isinstance(thing, type) and issubclass(thing, Exception)
    }
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and result & {ast.unparse(base) for base in node.bases}:
                result.add(node.name)
    return result - {"MissingExtraError", "NothingToDrawError", "UnknownNameError"}  # these write their own fix


def _template(node: ast.expr) -> str:
    """Return a text with {} for each inserted value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
    return _template(node.left) + _template(node.right) if isinstance(node, ast.BinOp) else "{}"


def _errors_raised() -> Iterator[tuple[str, str, bool]]:
    """Yield the place that creates an error, its `what` as a template, and whether it has a fix."""
    errors = _error_names()
    for file in SOURCE.rglob("*.py"):
        place = file.relative_to(SOURCE)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in errors and node.args:
                fixed = len(node.args) > 1 or isinstance(node.args[0], ast.Starred)
                yield f"{place.as_posix()}:{node.lineno}", _template(node.args[0]), fixed


def test_the_place_of_an_error_is_a_field_and_not_part_of_its_text() -> None:
    result = [index for index, what, _ in _errors_raised() if PLACE.match(what)]
    assert not result, f"give file= (and line=), or where=, instead: {result}"


def test_the_fix_of_an_error_is_not_part_of_its_problem() -> None:
    result = [index for index, what, fixed in _errors_raised() if "; " in what and not fixed]
    assert not result, f"give the second half as fix: {result}"


def test_every_error_has_a_fix() -> None:
    result = [index for index, _, fixed in _errors_raised() if not fixed]
    assert not result, f"say what a user can do about it, as fix: {result}"


OF_METRICS = ("metrics", "classic")
"""Files that declare metrics, the accuracy-matrix page's functions, and the names in other tools."""
ALSO_WORDS = {
    "cli/demo.py": {"forward_transfer"},  # its closing sentence is about the pairs of this metric
    "gather/output_files.py": {"saturation", "experiences_to_saturation"},  # columns of blocks.tsv
    "log/formats/table.py": {"experiences_to_saturation"},  # a column that distinguishes blocks.tsv from a log
    "log/formats/wide.py": {"forgetting", "bwt", "fwt"},  # columns of Avalanche's
    "reports/figures/matrices.py": {"forgetting"},  # the same
    "reports/formats/pictures.py": {"forgetting"},  # the name of a figure
    "stats/capabilities.py": {
        "ste_relative",
        "ste_forward_transfer",
        "ste_reverse_transfer",
    },  # the metrics that New et al. 2022 average
    "simulate/learner.py": {"saturation", "forgetting"},  # traits of an idealised learner
}
"""Words that are also metric names, or places that are about one metric."""


def test_facts_about_a_metric_are_part_of_its_declaration() -> None:
    """A table of ids elsewhere would need a change whenever a metric is added or renamed."""
    ids = {metric.name for metric in METRICS}
    results: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        where = file.relative_to(SOURCE)
        if where.parts[0] in OF_METRICS:
            continue
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in ids:
                results.setdefault(where.as_posix(), set()).add(str(node.value))
    assert results == ALSO_WORDS


def test_the_name_of_a_preset_is_defined_once() -> None:
    names = {value for name, value in vars(presets).items() if name.isupper()}
    assert names <= {preset.name for preset in PRESETS}
    result = [
        f"{file.relative_to(SOURCE).as_posix()}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] != "log" and file != Path(presets.__file__)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not result, f"name it by perdure.settings.presets: {result}"


def test_the_changelog_begins_with_the_current_version() -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (\S+)( \(unreleased\))?$", changelog, re.MULTILINE)
    assert heading is not None
    assert perdure.__version__ == heading[1] + (".dev0" if heading[2] else "")
    assert f"\nversion: {perdure.__version__}\n" in (Path(__file__).parents[1] / "CITATION.cff").read_text()


def test_a_public_class_name_is_defined_once() -> None:
    counts = Counter(
        node.name
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not {name for name, count in counts.items() if count > 1}


def test_no_code_is_made_from_text_or_patched() -> None:
    result = {"eval", "exec", "compile"}
    patched = {"__code__", "CodeType"}
    outcome = [
        f"{file.relative_to(SOURCE).as_posix()}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in result)
        or (isinstance(node, ast.Attribute) and node.attr in patched)
    ]
    assert not outcome


MOST_FILES = 305
MOST_CODE_LINES = 44_500
MOST_MODULES_ENTERED = {"score": 66, "report": 97}
"""Limits of growth, a tenth above the state after the redesign. Raise one only with a reason."""

ENTERED = """
import sys
entered = set()
def trace(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(sys.argv[1]) and code.co_flags & 1:
        entered.add(code.co_filename)
root, *command = sys.argv[1:]
sys.argv = ["perdure", *command]
sys.settrace(trace)
try:
    from perdure.__main__ import main
    main()
except SystemExit:
    pass
sys.settrace(None)
print(len(entered), file=sys.stderr)
"""


def count_code_lines(text: str) -> int:
    """Count the lines that are not blank, comments or bare strings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for index, line in lines if line.strip() and not line.strip().startswith("#") and index not in texts)


def test_the_package_stays_small() -> None:
    files = list(SOURCE.rglob("*.py"))
    assert len(files) <= MOST_FILES
    assert sum(count_code_lines(file.read_text()) for file in files) <= MOST_CODE_LINES


@pytest.mark.parametrize("verb", MOST_MODULES_ENTERED)
def test_a_command_enters_few_modules(verb: str, tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example is not None
    subprocess.run([sys.executable, "-c", example[1]], cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-c", ENTERED, f"{SOURCE}/", verb, "logs"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert int(done.stderr.splitlines()[-1]) <= MOST_MODULES_ENTERED[verb]
