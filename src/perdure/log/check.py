"""Check a log: list every problem with its file, line and fix."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.formats.l2logger import L2LOGGER, header_problems
from perdure.log.manifest import manifest_in, measures_of, object_in, role_of
from perdure.log.model import Lifetime
from perdure.log.places import MANIFEST, SCENARIO_INFO, sources
from perdure.log.problem import Check, Level, Note, Problem
from perdure.log.read import Options, lifetimes, locate, recognise
from perdure.log.rows import Examined, examine
from perdure.log.rules import OPTIONAL_COLUMNS, STANDARD_COLUMNS, across, repeated, within
from perdure.log.verify import Ledger, Seen, compared, description_problems, ledger_of, seen_in
from perdure.text import plural

_AT_MOST = 100  # problems of one kind in one file; further ones are counted


def check_log(path: str | os.PathLike[str], options: Options | None = None) -> Check:
    """List every problem of a log.

    Folders of L2Logger are checked line by line. Other kinds are checked up to the problem that stops their reader.

    Parameters
    ----------
    path
        The log, or a URL of it.
    options
        Options of the readers.

    Returns
    -------
    Check
        The problems, the number of records, and notes.
    """
    place = locate(path)
    reader = recognise(place)
    options = options or Options()
    if reader is L2LOGGER:
        return check_l2logger(place, options)
    try:
        logged = tuple(lifetimes(place, options))
    except LogError as problem:
        return Check(0, (_as_problem(problem),))
    records = sum(lifetime.height for lifetime in logged)
    if reader.name == "matrix":
        notes = tuple(dict.fromkeys(note for lifetime in logged for note in lifetime.notes))
        return Check(records, (), _matrices_text(logged, records), notes)
    problems, further = _problems_and_notes(logged)
    return Check(records, problems, notes=further)


def joined(checks: Mapping[Path, Check], missing: Sequence[tuple[str, str]] = ()) -> Check:
    """Return the checks of several logs as one, with `missing` logs and the reasons; places name their log."""
    if len(checks) == 1 and not missing:
        return next(iter(checks.values()))
    problems = [Problem("error", place, None, *_halves(why)) for place, why in missing]
    for path, check in checks.items():
        problems += [replace(problem, file=_placed(problem.file, path)) for problem in check.problems]
    shared = set.intersection(*(set(check.notes) for check in checks.values()))
    notes = dict.fromkeys(
        note if note in shared else f"{path}: {note}" for path, check in checks.items() for note in check.notes
    )
    rows = sum(check.rows for check in checks.values())
    return Check(rows, tuple(problems), f"{plural(len(checks), 'log')}, {plural(rows, 'record')}", tuple(notes))


def _halves(why: str) -> tuple[str, str]:
    what, _, fix = why.partition("; ")
    return what, fix or "repair it"


def _placed(file: str, log: Path) -> str:
    return file if Path(file).is_relative_to(log) else str(log) if file == "." else str(log / file)


def _problems_and_notes(logged: Sequence[Lifetime]) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Return the problems that readers worked around, and notes, rows that do not count among them."""
    every = dict.fromkeys(note for lifetime in logged for note in lifetime.notes)
    problems = tuple(note.problem for note in every if isinstance(note, Note))
    notes = [note for note in every if not isinstance(note, Note)]
    for lifetime in logged:
        with contextlib.suppress(LogError):
            dropped = lifetime.passage().dropped.items()
            notes += [f"{lifetime.id}: {plural(count, 'row')} dropped: {why}" for why, count in dropped if count]
        if lifetime.complete is False:
            notes.append(f"{lifetime.id}: this lifetime is incomplete; score leaves it out of its group")
    return problems, tuple(notes)


def _matrices_text(logged: Sequence[Lifetime], cells: int) -> str:
    counts = sorted({len(lifetime.scenario.tasks) for lifetime in logged})
    tasks = f"{' or '.join(map(str, counts))} task{'s' if counts != [1] else ''}"
    matrices = f"{len(logged)} accuracy matrices" if len(logged) > 1 else "an accuracy matrix"
    return f"{matrices} of {tasks}, {cells} cell{'s' if cells != 1 else ''} with a value"


def check_l2logger(place: Path, options: Options | None = None) -> Check:
    """Return every problem of an L2Logger folder, and everything that its reader reports."""
    checked = check_lines(place, options)
    if any(problem.level == "error" and not problem.tolerated for problem in checked.problems):
        return checked
    try:
        lifetime = L2LOGGER.read(place, options or Options())
    except LogError as problem:
        return Check(checked.rows, (*checked.problems, _as_problem(problem, place)))
    further, notes = _problems_and_notes([lifetime])
    return Check(checked.rows, tuple(dict.fromkeys((*checked.problems, *further))), notes=notes)


def check_lines(place: Path, options: Options | None = None) -> Check:
    """Return every problem of an L2Logger folder's lines, JSON files and ledger."""
    problems: list[Problem] = []
    measures: Sequence[str] = ()
    try:
        measures = tuple((options and options.measures) or measures_of(place, {}))
    except LogError as problem:
        problems.append(_as_problem(problem, place))
    problems += _check_descriptions(place)
    written = ledger_of(place)  # before the files, which only grow
    ledger = written or Ledger()
    try:
        data_files = sources(place)
    except LogError as problem:
        return Check(0, (*problems, _as_problem(problem, place)))
    if not data_files:
        problems.append(Problem("error", ".", None, "no data-log.tsv in any folder below", "nothing was logged here"))
    tables: list[tuple[str, pl.DataFrame]] = []
    headers: dict[bool, str] = {}
    files_seen: dict[str, Seen] = {}
    for source in data_files:
        try:
            content = files.read_bytes(source.name)[: source.size]
        except OSError as problem:
            what = f"cannot be read: {problem.strerror}"
            problems.append(Problem("error", source.relative, None, what, "check its permissions"))
            files_seen[source.relative] = Seen(source.size, None)
            continue
        files_seen[source.relative] = seen_in(content, ledger.closed.get(source.relative))
        examined = examine(source.relative, content)
        problems.extend(_cap(_check_file(source.relative, examined, content, measures)))
        if examined.table is not None and not any(header_problems(examined.header, measures)):
            tables.append((source.relative, examined.table))
            headers.setdefault("block_subtype" in examined.header, source.relative)
    if len(headers) > 1:
        problems.append(
            Problem(
                "warning",
                headers[False],
                1,
                f"no column block_subtype, which {headers[True]} has",
                "l2logger refuses such a mixture; Perdure takes 'wake' where it is absent",
            )
        )
    problems.extend(_cap(within(tables, measures)))
    problems.extend(_cap(across(tables)))
    problems.extend(_cap(repeated(tables)))
    problems.extend(description_problems(written, place) if written else ())
    problems.extend(compared(ledger, files_seen))
    return Check(sum(table.height for _, table in tables), tuple(problems))


def _check_descriptions(place: Path) -> Iterator[Problem]:
    """Yield the problems of the JSON files next to the data."""
    if not (place / SCENARIO_INFO).exists():
        fix = "write {} into it; l2metrics refuses a log without"
        yield Problem("warning", SCENARIO_INFO, None, "missing", fix)
    for name in (SCENARIO_INFO, MANIFEST):
        if (place / name).exists():
            try:
                if name == MANIFEST:
                    role_of(manifest_in(place).get("role"), place / MANIFEST)
                else:
                    object_in(place / name)
            except LogError as problem:
                yield _as_problem(problem, place)


def _check_file(file: str, examined: Examined, content: bytes, measures: Sequence[str]) -> Iterator[Problem]:
    """Yield the problems of one data file's bytes and header."""
    yield from examined.problems
    if b"\r\n" in content:
        line = content.count(b"\n", 0, content.find(b"\r\n")) + 1
        yield Problem("warning", file, line, "lines end with CR LF", "harmless; L2Logger writes LF", True)
    wrong = list(header_problems(examined.header, measures)) if examined.header else []
    for what, fix in wrong:
        yield Problem("error", file, 1, what, fix)
    if wrong or examined.table is None:
        return
    expected = [name for name in STANDARD_COLUMNS if name in examined.header or name not in OPTIONAL_COLUMNS]
    if list(examined.header[: len(expected)]) != expected:
        yield Problem(
            "warning",
            file,
            1,
            f"the columns are in another order ({', '.join(examined.header[:20])})",
            "L2Logger writes " + ", ".join(expected) + " first; Perdure goes by names",
        )


def _cap(problems: Iterator[Problem]) -> Iterator[Problem]:
    """Yield at most a hundred problems of one kind in one file, then the number of further ones."""
    counts: Counter[tuple[str, Level, str]] = Counter()
    for problem in problems:
        kind = (problem.file, problem.level, problem.fix)
        counts[kind] += 1
        if counts[kind] <= _AT_MOST:
            yield problem
    for (file, level, fix), count in counts.items():
        if count > _AT_MOST:
            yield Problem(level, file, None, f"{count - _AT_MOST} more lines with the same problem", fix)


def _as_problem(error: LogError, root: Path | None = None) -> Problem:
    file = error.file or "."
    if root is not None and Path(file).is_relative_to(root):
        file = Path(file).relative_to(root).as_posix()
    return Problem("error", file, error.line, error.detail, error.fix or "repair it")
