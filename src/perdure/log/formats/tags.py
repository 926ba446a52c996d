"""Tags, the names that trackers give to scalars: which say mode, task and measure, and by which pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

__all__ = ["MODES", "TAG_COLUMNS", "Tag", "tag_of", "tags_of"]

Mode = Literal["learn", "evaluate"]

TAG_COLUMNS: tuple[Mode, Mode] = ("learn", "evaluate")
"""What a pattern of tags is given as: `--column evaluate=eval/{task}/{measure}`."""

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
"""What a tool's own name of a measure means; by it the unit is known."""
_HOLE = re.compile(r"\{(task|measure)\}")


class Tag(msgspec.Struct, frozen=True):
    """What a tag says."""

    mode: Mode
    task: str | None
    """None where a pattern of one's own does not say: then there is one task, called as its run is."""
    measure: str
    number: int | None = None
    """Of an experience, in the order of learning, where the tool counts them."""


def tags_of(names: Iterable[str], given: Mapping[str, str]) -> dict[str, Tag]:
    """The names that are tags and what each says, by patterns of one's own in `given`, else by known ones."""
    return {name: tag for name in names if (tag := tag_of(name, given)) is not None}


def tag_of(name: str, given: Mapping[str, str]) -> Tag | None:
    """What a tag says; None where it names no task."""
    own = [(mode, given[mode]) for mode in TAG_COLUMNS if mode in given]
    if own:
        return next((tag for mode, pattern in own if (tag := _by(mode, pattern, name))), None)
    for pattern in _PATTERNS:
        if found := pattern.fullmatch(name.strip()):
            said = found.groupdict()
            number = int(said["number"]) if said.get("number") and len(said["number"]) < 10 else None
            task = said.get("task") or (None if number is None else str(number))
            if task is None:
                return None
            mode, measure = MODES[(said.get("mode") or "eval").lower()], said["measure"]
            return Tag(mode, task.lower(), _CALLED.get(measure, measure), number)
    return None


def _by(mode: Mode, pattern: str, name: str) -> Tag | None:
    """What a tag says by a pattern of one's own, in which {task} and {measure} stand for any text."""
    parts = _HOLE.split(pattern)
    found = re.fullmatch(
        "".join(f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        if len(set(parts[1::2])) == len(parts[1::2])
        else re.escape(pattern),
        name,
    )
    if not found:
        return None
    said = found.groupdict()
    task = said.get("task")
    return Tag(mode, task.lower() if task else None, said.get("measure") or "value")
