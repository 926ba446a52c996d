"""Interpret the names of columns: identity, bookkeeping, tags, and the shape of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from perdure.errors import LogError, closest, nearest
from perdure.log.read import Options
from perdure.log.rules import COST_COLUMNS, MEMORY_COLUMNS, STANDARD_COLUMNS
from perdure.text import join_names

Shape = Literal["long", "wide", "triplets", "tagged", "stream"]

Mode = Literal["learn", "evaluate"]

TAG_COLUMNS: tuple[Mode, Mode] = ("learn", "evaluate")
"""The columns of `--column evaluate=eval/{task}/{measure}`, which gives a pattern of tags."""

MODES: Mapping[str, Mode] = {
    **dict.fromkeys(("train", "training", "learn", "learning"), "learn"),
    **dict.fromkeys(("eval", "evaluate", "evaluation", "test", "testing", "val", "valid", "validation"), "evaluate"),
}

_MODE = rf"(?P<mode>{'|'.join(MODES)})"
# Whole tags, the first that fits; a task or a measure has no slash in it unless its pattern is the last to be tried.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<measure>Top1_Acc_Exp)/(?P<mode>eval)_phase/test_stream/(?:Task\d+/)?Exp0*(?P<number>\d+)",  # Avalanche
        r"RESULT_(?P<measure>class_acc)_(?P<number>\d+)",  # Mammoth, on W&B
        rf"{_MODE}/(?P<task>[^/]+)/(?P<measure>[^/]+)",
        rf"(?P<task>[^/]+)/{_MODE}/(?P<measure>[^/]+)",
        rf"{_MODE}_(?P<measure>[^/]+)/(?P<task>[^/]+)",  # CORA: eval_reward/0
        rf"(?P<measure>[^/]+)/{_MODE}/(?P<task>[^/]+)",
    )
)
_CALLED = {"Top1_Acc_Exp": "accuracy", "class_acc": "accuracy"}
"""A tool's own name of a measure → ours, which determines the unit."""
_HOLE = re.compile(r"\{(task|measure)\}")

IDENTITY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "learner": ("learner", "method", "algorithm", "agent"),
        "scenario": ("scenario", "scenario_type"),
        "lifetime": ("lifetime", "run", "run_id"),
        "seed": ("seed",),
        "role": ("role",),
    }
)
"""Our identity columns, with the names that files may have for them; in this order they name a lifetime."""

ACTIVE_TASK = (
    "active_task",
    "active_env",
    "active_task_idx",
    "active_task_index",
    "current_task",
    "current_task_idx",
    "current_task_index",
    "current_task_name",
    "current_env",
)
"""Names of the column of a wide table that holds the task that is being learned."""

_COUNTED = ("step", "steps", "timestep", "timesteps", "frame", "frames")
_COUNTING = ("total", "global", "env", "environment", "total_env", "num", "n", "current_task", "train", "training")

STEPS = frozenset((*_COUNTED, *("_".join(pair) for pair in product(_COUNTING, _COUNTED))))
"""Names of columns that count the steps of learning."""

_TIMES = (
    *("time", "times", "timestamp", "datetime", "date", "wall_time", "walltime", "wallclock", "wall_clock"),
    *("wall_clock_time", "time_elapsed", "elapsed", "elapsed_time", "elapsed_s", "elapsed_seconds", "duration"),
    *("duration_s", "seconds", "fps"),
)
_NUMBERS = (
    *("epoch", "epochs", "iteration", "iterations", "iter", "episode", "episodes", "episode_num", "episode_number"),
    *("episode_id", "index", "idx", "id", "row", "row_id", "level_0", "block", "block_id", "task_id", "task_idx"),
    *("task_index", "task_num", "task_number"),
)
_MEMORY = ("memory", *MEMORY_COLUMNS, *COST_COLUMNS)
_SPENT = (
    *("tokens", "total_tokens", "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
    *("cost", "costs", "cost_usd", "usd", "price"),
)
_SEEDS = ("random_seed", "env_seed", "rng_seed", "seeds")
_BOOKKEEPING = frozenset(
    (
        *STEPS,
        *_TIMES,
        *_NUMBERS,
        *_MEMORY,
        *_SPENT,
        *_SEEDS,
        *ACTIVE_TASK,
        *(name for names in IDENTITY.values() for name in names),
    )
)
# A row index that a spreadsheet or pandas wrote: a number per row, and no measure.
_INDEX = re.compile(r"unnamed[_: ]+\d+|__index_level_\d+__", re.IGNORECASE)

TRIPLET: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"eval_exp": ("eval_exp", "task"), "training_exp": ("training_exp", "stage")}
)
"""Our columns of a table of triplets, with the names that files may have for them."""
ERRORS = ("stderr", "se", "standard_error", "sem")
"""Names of the column with the standard error of a value over items."""
COUNTS = ("n", "items", "n_items", "num_items", "samples", "n_samples")
"""Names of the column with the number of items behind a value."""
SPREADS = ("sd", "std", "stdev")
"""Names of the column with the standard deviation over items."""
NEEDED: Mapping[Shape, Mapping[str, str]] = MappingProxyType(
    {
        "long": {"task_name": "env", "block_type": "phase"},
        "wide": {"active_task": "current"},
        "triplets": {"eval_exp": "evaluated", "training_exp": "trained"},
        "tagged": {},
        "stream": {},
    }
)
"""The columns that each shape needs, with an example of a file's name for them."""


def plain(name: str) -> str:
    """Return a column's name without folder, case and punctuation: `total_steps` for `time/Total Steps`."""
    return re.sub(r"[^0-9a-z]+", "_", name.rpartition("/")[2].lower()).strip("_")


def is_bookkeeping(name: str) -> bool:
    """Return whether a column of this name is never a measure: identity, a seed, a step, a cost, a running number."""
    return plain(name) in _BOOKKEEPING or _INDEX.fullmatch(name) is not None or is_spread(name)


def is_spread(name: str) -> bool:
    """Return whether a column of this name holds the uncertainty of another, or the number of items behind it."""
    return plain(name) in (*ERRORS, *SPREADS, "n") or plain(name).endswith(tuple(f"_{error}" for error in ERRORS))


class TableLayout(msgspec.Struct, frozen=True):
    """The interpretation of a header: its shape, and the file's column for each of ours."""

    shape: Shape
    pairs: tuple[tuple[str, str], ...]
    """Our name and the file's: mapped columns first, then those with known names, then the rest."""
    identity: tuple[str, ...]
    """The columns of `IDENTITY` that it has."""
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> Mapping[str, str]:
        """Our name → the file's."""
        return dict(self.pairs)

    @property
    def called(self) -> Mapping[str, str]:
        """Our name → the file's, of the columns whose names differ."""
        return {column: name for column, name in self.pairs if column != name}

    def missing(self) -> tuple[str, ...]:
        """Return the columns that this shape needs and the file does not have."""
        return tuple(name for name in NEEDED[self.shape] if name not in self.columns)


def table_shape(header: Sequence[str], options: Options) -> Shape | None:
    """Return the shape of a table with this header, as declared or by its names; None if they do not determine it.

    A name of the long table (task_name, block_type, or a column mapped to one of the standard ones) makes it
    long; eval_exp with training_exp, or task with stage, triplets; a column that names the active task, wide; tags
    of tasks, tagged.
    """
    if options.shape is not None:
        return options.shape
    mapped = {column for column, name in options.columns.items() if name in header}
    if mapped & STANDARD_COLUMNS.keys() or not {"task_name", "block_type"}.isdisjoint(header):
        return "long"
    understood = {plain(name) for name in header} | mapped
    if all(not understood.isdisjoint(names) for names in TRIPLET.values()):
        return "triplets"
    if not understood.isdisjoint(ACTIVE_TASK):
        return "wide"
    return "tagged" if tags_of(header, options.columns) else None


def layout(header: Sequence[str], path: Path, options: Options) -> TableLayout:
    """Return the layout of a header; a column whose name one of ours takes becomes `<name>_in_file`.

    Raise LogError if a mapping names a missing column, or if two columns would have the same name.
    """
    mapping = {column: name for column, name in options.columns.items() if column not in TAG_COLUMNS}
    for column, name in mapping.items():
        if name not in header:
            raise LogError(f"no column {name!r} for {column}", offer(name, header), file=path)
    shape = table_shape(header, options) or "long"
    notes: list[str] = []
    understood = dict(IDENTITY)
    if shape == "wide":
        understood["active_task"] = ACTIVE_TASK
    elif shape == "triplets":
        understood |= TRIPLET
    elif shape == "stream":
        understood["task_name"] = ("task_name", "task", "concept", "domain")
    for column, names in understood.items():
        if column not in mapping and (match := _understood(header, column, names, set(mapping.values()), notes)):
            mapping[column] = match
    used = set(mapping.values())
    renamed = [*mapping, *(f"{name}_in_file" if name in mapping else name for name in header if name not in used)]
    if twice := {name for name, count in Counter(renamed).items() if count > 1}:
        raise LogError(f"two columns would be called {', '.join(sorted(twice))}", "rename one in the file", file=path)
    sources = [*mapping.values(), *(name for name in header if name not in used)]
    # The first measure is scored: mapped columns come first, then the order of the file.
    pairs = tuple(zip(renamed, sources, strict=True))
    return TableLayout(shape, pairs, tuple(name for name in IDENTITY if name in mapping), tuple(notes))


def _understood(
    header: Sequence[str], column: str, names: Sequence[str], used: set[str], notes: list[str]
) -> str | None:
    """Return the file's column for one of ours: the first of its names that is present and not used otherwise."""
    # Identity columns are in no folder: `env/agent` is not a learner.
    folded = {name: name.strip().lower() if column in IDENTITY else plain(name) for name in header}
    matches = [in_file for name in names for in_file in header if folded[in_file] == name and in_file not in used]
    if len(matches) > 1:
        notes.append(
            f"{' and '.join(map(repr, matches))} could each be the {column}: {matches[0]!r} is taken; "
            f"say --column {column}=… for another"
        )
    return matches[0] if matches else None


def offer(name: str, present: Sequence[str]) -> str:
    """Return a hint that names the nearest column, and all columns."""
    hint = f" (found: {join_names(present)})" if closest(name, present) else ""
    return f"{nearest(name, present)}{hint}"


# --- tags: the names that trackers give to scalars -----------------------------------------------


class Tag(msgspec.Struct, frozen=True):
    """The meaning of a tag."""

    mode: Mode
    task: str | None
    """None if a custom pattern has no task: then there is one task, with the name of its run."""
    measure: str
    number: int | None = None
    """The number of an experience in the order of learning, if the tool counts them."""


def tags_of(names: Iterable[str], templates: Mapping[str, str]) -> dict[str, Tag]:
    """Return the meaning of each name that is a tag, by the custom patterns in `templates`, else by known ones."""
    return {name: tag for name in names if (tag := _tag_of(name, templates)) is not None}


def _tag_of(name: str, templates: Mapping[str, str]) -> Tag | None:
    """Return the meaning of a tag, None if it names no task."""
    candidates = [(mode, templates[mode]) for mode in TAG_COLUMNS if mode in templates]
    if candidates:
        return next((tag for mode, pattern in candidates if (tag := _by(mode, pattern, name))), None)
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(name.strip()):
            parts = match.groupdict()
            number = int(parts["number"]) if parts.get("number") and len(parts["number"]) < 10 else None
            task = parts.get("task") or (None if number is None else str(number))
            if task is None:
                return None
            mode, measure = MODES[(parts.get("mode") or "eval").lower()], parts["measure"]
            return Tag(mode, task.lower(), _CALLED.get(measure, measure), number)
    return None


def _by(mode: Mode, pattern: str, name: str) -> Tag | None:
    """Return the meaning of a tag by a custom pattern, in which {task} and {measure} match any text."""
    parts = _HOLE.split(pattern)
    match = re.fullmatch(
        "".join(f"(?P<{part}>.+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
        if len(set(parts[1::2])) == len(parts[1::2])
        else re.escape(pattern),
        name,
    )
    if not match:
        return None
    matched = match.groupdict()
    task = matched.get("task")
    return Tag(mode, task.lower() if task else None, matched.get("measure") or "value")
