"""What reporting well asks of a scenario (S000, S002), as advice on its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from perdure.scenario.kinds import KINDS, Finding
from perdure.scenario.sites import confounded
from perdure.scenario.syllabus import Syllabus

__all__ = ["advice"]

_SHORTEST_SMOOTHED = 15
"""A block of n is smoothed over n div 5 experiences, and not at all where that is below 3."""
_SHORTEST_TERMINAL = 10


def advice(syllabus: Syllabus, kind: str | None) -> list[Finding]:
    """Everything that would make a life's metrics better founded; each kind of finding is said once."""
    return [
        *_nothing_learned(syllabus),
        *_first_evaluation(syllabus, kind),
        *_short_blocks(syllabus),
        *_without_evaluation_between(syllabus),
        *_unattributable(syllabus),
    ]


def _nothing_learned(syllabus: Syllabus) -> Iterator[Finding]:
    if not syllabus.scenario.where("learn"):
        yield Finding("warning", None, "nothing is learned", "a lifetime needs a train phase; few metrics work without")


def _first_evaluation(syllabus: Syllabus, kind: str | None) -> Iterator[Finding]:
    scenario = syllabus.scenario
    learning = scenario.where("learn")
    if not learning:
        return
    if str(scenario.info.get("scenario_type", "")).lower() == "ste":  # an expert's evaluations are ignored
        return
    if not scenario.where("evaluate"):
        yield Finding(
            "advice",
            None,
            "nothing is evaluated",
            "maintenance and transfer are measured in evaluations: add test phases to measure them",
        )
        return
    if kind in KINDS:  # these types refuse it
        return
    before = {block.task for block in scenario.blocks[: learning[0]]}
    missing = [task.label for task in scenario.tasks if task.label not in before]
    if missing:
        yield Finding(
            "advice",
            learning[0],
            f"{_listed(missing)} not evaluated before the first learning block",
            'forward transfer needs it: evaluate all tasks in a phase "0.test"',
        )


def _short_blocks(syllabus: Syllabus) -> Iterator[Finding]:
    scenario = syllabus.scenario
    lengths = [(index, scenario.blocks[index].length) for index in scenario.where("learn")]
    tiny = [index for index, length in lengths if length is not None and length < _SHORTEST_TERMINAL]
    short = [
        index for index, length in lengths if length is not None and _SHORTEST_TERMINAL <= length < _SHORTEST_SMOOTHED
    ]
    if tiny:
        yield Finding(
            "warning",
            tiny[0],
            f"{_blocks(tiny, 'learning block')} under {_SHORTEST_TERMINAL} experiences",
            "its terminal performance is a single value, and it is not smoothed; make it longer",
        )
    if short:
        yield Finding(
            "advice",
            short[0],
            f"{_blocks(short, 'learning block')} under {_SHORTEST_SMOOTHED} experiences",
            "too short to be smoothed; make it longer",
        )


def _without_evaluation_between(syllabus: Syllabus) -> Iterator[Finding]:
    blocks = syllabus.scenario.blocks
    if not syllabus.scenario.where("evaluate"):
        return
    later = [
        index
        for index in range(1, len(blocks))
        if blocks[index].mode == blocks[index - 1].mode == "learn" and blocks[index].subtype == "wake"
    ]
    if later:
        first = later[0]
        yield Finding(
            "advice",
            first,
            f"{_blocks(later, 'learning block')} right after another, with no evaluation between "
            f"(first: {blocks[first - 1].task}, then {blocks[first].task})",
            "evaluate after each learning block; otherwise their effects cannot be told apart",
        )


def _unattributable(syllabus: Syllabus) -> Iterator[Finding]:
    found = confounded(syllabus.scenario)
    shown = list(islice(found, 3))
    if not shown:
        return
    count = len(shown) + sum(1 for _ in found)
    texts = [f"{_tasks(syllabus, case.learned)} before block {case.after} ({case.task})" for case in shown]
    yield Finding(
        "advice",
        shown[0].after,
        f"several tasks are learned between two evaluations of one, {count} times: {'; '.join(texts)}"
        + ("; …" if count > len(shown) else ""),
        "transfer cannot be attributed there; evaluate every task after each learning block",
    )


def _tasks(syllabus: Syllabus, blocks: Sequence[int]) -> str:
    names = [f"{index} ({syllabus.scenario.blocks[index].task})" for index in blocks[:4]]
    return "blocks " + ", ".join(names) + (", …" if len(blocks) > 4 else "")


def _blocks(found: Sequence[int], what: str) -> str:
    return f"a {what}" if len(found) == 1 else f"{len(found):,} {what}s, the first here,"


def _listed(names: Sequence[str]) -> str:
    text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{text} {'is' if len(names) == 1 else 'are'}"
