"""Whose variants: the parameter sets of each label, settled over all lifetimes that are seen together.

`sets_of` reads one lifetime's, `settle` decides over many what is noise and what each set is called, and
`names` gives every row of a lifetime its task's name by that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.scenario.model import Task
from perdure.scenario.parameters import set_text
from perdure.scenario.variants import numbered

if TYPE_CHECKING:
    from perdure.log.model import Lifetime


_BARE = "{}"
_BY_ORDER = re.compile(r"v[0-9]+")


class LabelSets(msgspec.Struct, frozen=True):
    """The parameter sets that one lifetime has under one label, as text that is the same for equal sets."""

    sets: tuple[str, ...]
    """In order of appearance, without what is noise in this lifetime."""
    noise: frozenset[str] = frozenset()
    """Parameters with a run of one experience in a block of two or more."""
    apart: bool = False
    """Whether several of the sets each fill blocks as logged."""
    task: str = ""
    """The label without the variant that the manifest says it has."""


class Sets(msgspec.Struct, frozen=True):
    """The parameter sets of one lifetime, label by label; small, whatever the length of the lifetime."""

    id: str
    labels: Mapping[str, LabelSets]


class Settled(msgspec.Struct, frozen=True):
    """What every parameter set is called, the same in all lifetimes that were settled together."""

    names: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Label → set → the name of its task."""
    noise: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Label → the parameters that are no part of a set."""

    def splits(self, label: str) -> bool:
        """Whether some set of `label` is called otherwise than the label."""
        return any(name != label for name in self.names.get(label, {}).values())


def task_of(lifetime: Lifetime, label: str) -> Task:
    """What a label of this lifetime stands for, by its manifest; else by its source: name and variant."""
    return _described(lifetime, label) or (Task(label) if lifetime.variants == "params" else Task.parse(label))


def _described(lifetime: Lifetime, label: str) -> Task | None:
    """What the manifest says that a label stands for; older ones do not say it."""
    tasks = described_tasks(lifetime)
    for one in tasks if isinstance(tasks, Sequence) else ():
        if isinstance(one, Mapping) and str(one.get("label")).lower() == label:
            task = Task(str(one.get("name")).lower(), str(one.get("variant") or "").lower())
            return task if task.label == label else None
    return None


def described_tasks(lifetime: Lifetime) -> object:
    """What the manifest says of its tasks: a list of objects, where nobody meddled with it."""
    scenario = lifetime.manifest.get("scenario")
    return scenario.get("tasks") if isinstance(scenario, Mapping) else None


def sets_of(lifetime: Lifetime) -> Sets:
    """The parameter sets of a lifetime, label by label, and which of its parameters are noise."""
    table = lifetime.parameters
    noise = table.noise()
    found: dict[str, LabelSets] = {}
    for label, (where, codes, texts) in table.sets(noise).items():
        block = table.block[where]
        pairs = np.unique(np.stack([block, codes]), axis=1)
        _, first, count = np.unique(pairs[0], return_index=True, return_counts=True)
        whole = pairs[1][first[count == 1]]
        described = _described(lifetime, label)
        task = described.name if described else label
        found[label] = LabelSets(texts, noise[label], len(np.unique(whole)) > 1, task)
    return Sets(lifetime.id, found)


# --- many lifetimes -------------------------------------------------------------------------------


def settle(several: Sequence[Sets]) -> Settled:
    """What is noise, and what each set is called, over all lifetimes that are seen together.

    Lifetimes are taken in the order of their ids, compared as text, so that the order of files decides nothing.
    A set that the manifests put under several labels of one task (another syllabus counted its variants in
    another order, a 2019 tree has the bare name) is one, and is called as where it first appears.
    """
    lives = sorted(several, key=lambda one: one.id)
    noise: dict[str, frozenset[str]] = {}
    tasks: dict[str, str] = {}
    for life in lives:
        for label, found in life.labels.items():
            noise[label] = noise.get(label, frozenset()) | found.noise
            if tasks.setdefault(label, found.task) == label:
                tasks[label] = found.task
    sets: dict[str, dict[str, None]] = {label: {} for label in noise}
    homes: dict[tuple[str, str], dict[str, None]] = {}
    divided: set[tuple[str, str]] = set()  # what some life has under two labels: they differ in more than the set
    for life in lives:
        here: dict[tuple[str, str], str] = {}
        for label, found in life.labels.items():
            for text in dict.fromkeys(_without(one, noise[label] - found.noise) for one in found.sets):
                sets[label][text] = None
                home = (tasks[label], text)
                homes.setdefault(home, {})[label] = None
                if here.setdefault(home, label) != label:
                    divided.add(home)
    alone = {label for label, found in sets.items() if len(found) == 1}
    counters = {label: numbered(label, alone) for label in sets}
    called: dict[tuple[str, str], str] = {}
    names: dict[str, dict[str, str]] = {}
    for label, found_here in sets.items():
        for text in found_here:
            home = (tasks[label], text)
            peers = [label] if text == _BARE or home in divided else list(homes[home])
            if sum(_is_named(one, tasks[one]) for one in peers) > 1:
                peers = [label]
            owner = (peers[0], text)
            if owner not in called:
                own = sorted(alone.intersection(peers), key=lambda one: (_rank(one, tasks[one]), peers.index(one)))
                called[owner] = own[0] if own else next(counters[peers[0]])
            names.setdefault(label, {})[text] = called[owner]
    return Settled(names, noise)


def _without(text: str, names: frozenset[str]) -> str:
    if not names or text == _BARE:
        return text
    return set_text({name: value for name, value in json.loads(text).items() if name not in names})


def _is_named(label: str, task: str) -> bool:
    return label != task and not _BY_ORDER.fullmatch(label[len(task) + 1 :])


def _rank(label: str, task: str) -> int:
    """A name that somebody gave before a number, a number before the bare task."""
    return 2 if label == task else 0 if _is_named(label, task) else 1


def names(lifetime: Lifetime, settled: Settled) -> tuple[pl.Series, dict[str, Task]]:
    """The name of each row's task by its parameter set, and the task of each name that is not its label."""
    table = lifetime.parameters
    given = lifetime.experiences.get_column("task_name")
    split = [label for label in table.labels if settled.splits(label)]
    if not split:
        return given, {}
    made: dict[str, Task] = {}
    known = list(table.labels)
    codes = table.label.copy()
    sets = table.sets(settled.noise)
    for label in split:
        where, which, texts = sets[label]
        called = settled.names[label]
        unknown = [text for text in texts if text not in called]
        if unknown:
            raise LogError(
                f"{label} has the parameter set {unknown[0][:80]}, which was not there when variants were settled",
                "settle over this lifetime too",
                where=lifetime.id,
            )
        made |= {name: _variant(label, name) for text in texts if (name := called[text]) != label}
        codes[where] = np.array([len(known) + at for at in range(len(texts))], dtype=np.int64)[which]
        known += [called[text] for text in texts]
    height = given.len() if table.counts is None else int(table.counts.sum())
    by_row = np.repeat(codes, np.diff(np.append(table.starts, height)))
    if table.counts is not None:
        spread = np.zeros(given.len(), dtype=np.int64)  # what does not count may be called anything
        spread[table.counts] = by_row
        by_row = spread
    return pl.Series("task_name", known, pl.String).gather(pl.Series(by_row)).cast(given.dtype), made


def _variant(label: str, name: str) -> Task:
    """The task called `name`, a variant of what was logged as `label`."""
    return Task(label, name[len(label) + 1 :]) if name.startswith(f"{label}_") else Task.parse(name)
