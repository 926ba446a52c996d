"""Find the variants of tasks: the parameter sets of each label, and their names.

`sets_of` returns the sets of one lifetime. `settle` decides for several lifetimes together which parameters are noise
and names each set. `names` then gives every row of a lifetime the name of its task.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.scenario.model import Task, numbered_labels
from perdure.scenario.parameters import same_value, set_text

if TYPE_CHECKING:
    from perdure.log.model import Lifetime


_BARE = "{}"
_BY_ORDER = re.compile(r"v[0-9]+")


class LabelSets(msgspec.Struct, frozen=True):
    """The parameter sets of one label in one lifetime, as text that is the same for equal sets."""

    sets: tuple[str, ...]
    """The sets in order of appearance, without parameters that are noise in this lifetime."""
    noise: frozenset[str] = frozenset()
    """Parameters with a run of one experience in a block of two or more."""
    apart: bool = False
    """Whether several of the sets each fill blocks as logged."""
    task: str = ""
    """The label without its variant in the manifest."""


class Sets(msgspec.Struct, frozen=True):
    """The parameter sets of one lifetime, label by label; small even for a long lifetime."""

    id: str
    labels: Mapping[str, LabelSets]


class Settled(msgspec.Struct, frozen=True):
    """The names of parameter sets, the same in all lifetimes that were settled together."""

    names: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Label → set → the name of its task."""
    noise: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Label → the parameters that are not part of a set."""

    def splits(self, label: str) -> bool:
        """Return whether some set of `label` has another name than the label."""
        return any(name != label for name in self.names.get(label, {}).values())


def task_of(lifetime: Lifetime, label: str) -> Task:
    """Return the task of a label, with name and variant, by the manifest or else by the source."""
    return _task_in_manifest(lifetime, label) or (Task(label) if lifetime.variants == "params" else Task.parse(label))


def _task_in_manifest(lifetime: Lifetime, label: str) -> Task | None:
    """Return the task of a label in the manifest; None if it has none, as in older ones."""
    tasks = described_tasks(lifetime)
    for entry in tasks if isinstance(tasks, Sequence) else ():
        if isinstance(entry, Mapping) and str(entry.get("label")).lower() == label:
            task = Task(str(entry.get("name")).lower(), str(entry.get("variant") or "").lower())
            return task if task.label == label else None
    return None


def described_tasks(lifetime: Lifetime) -> object:
    """Return the tasks of the manifest, which are a list of objects unless it was edited."""
    scenario = lifetime.manifest.get("scenario")
    return scenario.get("tasks") if isinstance(scenario, Mapping) else None


def sets_of(lifetime: Lifetime) -> Sets:
    """Return the parameter sets of a lifetime, label by label, and the parameters that are noise."""
    table = lifetime.parameters
    noise = table.noise()
    sets: dict[str, LabelSets] = {}
    for label, (where, codes, texts) in table.sets(noise).items():
        block = table.block[where]
        pairs = np.unique(np.stack([block, codes]), axis=1)
        _, first, count = np.unique(pairs[0], return_index=True, return_counts=True)
        repeated = pairs[1][first[count == 1]]
        described = _task_in_manifest(lifetime, label)
        task = described.name if described else label
        sets[label] = LabelSets(texts, noise[label], len(np.unique(repeated)) > 1, task)
    return Sets(lifetime.id, sets)


# --- many lifetimes -------------------------------------------------------------------------------


def settle(several: Sequence[Sets]) -> Settled:
    """Return the noise and the name of each set for several lifetimes.

    Lifetimes are taken in the order of their ids, compared as text, so that the order of files has no effect. A set
    that the manifests have under several labels of one task (another syllabus counted its variants in another
    order, a 2019 tree has the bare name) is one set, named as in its first lifetime.
    """
    lives = sorted(several, key=lambda life: life.id)
    noise: dict[str, frozenset[str]] = {}
    tasks: dict[str, str] = {}
    for life in lives:
        for label, label_sets in life.labels.items():
            noise[label] = noise.get(label, frozenset()) | label_sets.noise
            if tasks.setdefault(label, label_sets.task) == label:
                tasks[label] = label_sets.task
    sets: dict[str, dict[str, None]] = {label: {} for label in noise}
    homes: dict[tuple[str, str], dict[str, None]] = {}
    divided: set[tuple[str, str]] = (
        set()
    )  # sets that some lifetime has under two labels, which then differ in more than the set
    for life in lives:
        texts_by_name: dict[tuple[str, str], str] = {}
        for label, label_sets in life.labels.items():
            for text in dict.fromkeys(_without(params, noise[label] - label_sets.noise) for params in label_sets.sets):
                sets[label][text] = None
                home = (tasks[label], text)
                homes.setdefault(home, {})[label] = None
                if texts_by_name.setdefault(home, label) != label:
                    divided.add(home)
    single = {label for label, label_sets in sets.items() if len(label_sets) == 1}
    counters = {label: numbered_labels(label, single) for label in sets}
    called: dict[tuple[str, str], str] = {}
    names: dict[str, dict[str, str]] = {}
    for label, found_here in sets.items():
        for text in found_here:
            home = (tasks[label], text)
            peers = [label] if text == _BARE or home in divided else list(homes[home])
            if sum(_is_named(peer, tasks[peer]) for peer in peers) > 1:
                peers = [label]
            owner = (peers[0], text)
            if owner not in called:
                own_labels = sorted(
                    single.intersection(peers), key=lambda label: (_rank(label, tasks[label]), peers.index(label))
                )
                called[owner] = own_labels[0] if own_labels else next(counters[peers[0]])
            names.setdefault(label, {})[text] = called[owner]
    return Settled(names, noise)


def _without(text: str, names: frozenset[str]) -> str:
    if not names or text == _BARE:
        return text
    return set_text({name: value for name, value in json.loads(text).items() if name not in names})


def _is_named(label: str, task: str) -> bool:
    return label != task and not _BY_ORDER.fullmatch(label[len(task) + 1 :])


def _rank(label: str, task: str) -> int:
    """Return the rank of a label: a name that a user gave, then a number, then the bare task."""
    return 2 if label == task else 0 if _is_named(label, task) else 1


def names(lifetime: Lifetime, settled: Settled) -> tuple[pl.Series, dict[str, Task]]:
    """Return the name of each row's task by its parameter set, and the task of each name that is not its label."""
    table = lifetime.parameters
    labels = lifetime.experiences.get_column("task_name")
    split = [label for label in table.labels if settled.splits(label)]
    if not split:
        return labels, {}
    tasks: dict[str, Task] = {}
    known = list(table.labels)
    codes = table.label.copy()
    sets = table.sets(settled.noise)
    for label in split:
        where, indices, texts = sets[label]
        called = settled.names[label]
        unknown = [text for text in texts if text not in called]
        if unknown:
            raise LogError(
                f"{label} has the parameter set {unknown[0][:80]}, which was not there when variants were settled",
                "settle over this lifetime too",
                where=lifetime.id,
            )
        tasks |= {name: _variant(label, name) for text in texts if (name := called[text]) != label}
        codes[where] = np.array([len(known) + index for index in range(len(texts))], dtype=np.int64)[indices]
        known += [called[text] for text in texts]
    height = labels.len() if table.counts is None else int(table.counts.sum())
    by_row = np.repeat(codes, np.diff(np.append(table.starts, height)))
    if table.counts is not None:
        spread = np.zeros(labels.len(), dtype=np.int64)  # rows that do not count may have any name
        spread[table.counts] = by_row
        by_row = spread
    return pl.Series("task_name", known, pl.String).gather(pl.Series(by_row)).cast(labels.dtype), tasks


def _variant(label: str, name: str) -> Task:
    """Return the task called `name`, a variant of the task that was logged as `label`."""
    return Task(label, name[len(label) + 1 :]) if name.startswith(f"{label}_") else Task.parse(name)


_BARE = "{}"
_MANY = 4096  # stretches; with more, values that change with every experience are cut out of the text, not decoded
_VALUE = r'\s*:\s*(?:[^,{}\[\]"\s]+|"[^"]*"|\[[^\[\]{}"]*\])\s*'
_Codes = npt.NDArray[np.int64]


def parameters(text: str | None) -> dict[str, Any]:
    """Return the parameters in a cell of `task_params`; none if it is not a JSON object."""
    if not text or text == _BARE:
        return {}
    try:
        params = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        try:  # Python's own json, which L2Logger writes with, also has NaN and Infinity
            params = json.loads(text)
        except (ValueError, RecursionError):
            return {}
    return params if isinstance(params, dict) else {}


class ParameterTable(msgspec.Struct, frozen=True, eq=False):
    """The parameters of a lifetime in columns, one row per *stretch*: rows of one block whose text is the same."""

    starts: _Codes
    """The first row of each stretch among the rows that count."""
    block: _Codes
    """Its block, as logged."""
    label: _Codes
    """Its position in `labels`."""
    experiences: _Codes
    """The number of experiences that begin in it."""
    inside: npt.NDArray[np.bool_]
    """Whether it begins inside an experience."""
    text: _Codes
    """Its position in `found`."""
    labels: tuple[str, ...]
    found: tuple[Mapping[str, Any], ...]
    """Each distinct text, decoded."""
    values: Mapping[str, _Codes]
    """Parameter → a number for its value in each of `found`, the same for equal values."""
    counts: npt.NDArray[np.bool_] | None
    """Whether each row of the lifetime counts; None for all."""
    plain: Mapping[str, frozenset[str]]
    """Label → noise that was cut out of the text before decoding."""

    def noise(self) -> dict[str, frozenset[str]]:
        """Return label → its parameters with a run of at most one experience in a block of two or more."""
        first = np.flatnonzero(np.diff(self.block, prepend=-1))
        short = np.repeat(np.add.reduceat(self.experiences, first) < 2, np.diff(np.append(first, len(self.block))))
        noise: dict[str, set[str]] = {label: set(self.plain.get(label, ())) for label in self.labels}
        for name, values in self.values.items():
            value = values[self.text]
            changed = np.diff(value, prepend=-1) != 0
            changed[first] = True
            runs = np.flatnonzero(changed)
            single = (np.add.reduceat(self.experiences, runs) < 2) & ~short[runs]
            torn = changed & self.inside  # changes while an experience lasts
            for label in np.unique(self.label[np.concatenate([runs[single], np.flatnonzero(torn)])]).tolist():
                noise[self.labels[label]].add(name)
        return {label: frozenset(names) for label, names in noise.items()}

    def sets(self, noise: Mapping[str, frozenset[str]]) -> dict[str, tuple[_Codes, _Codes, tuple[str, ...]]]:
        """Return label → its stretches, the set of each, and the sets in order of appearance, without `noise`."""
        sets: dict[str, tuple[_Codes, _Codes, tuple[str, ...]]] = {}
        for number, label in enumerate(self.labels):
            where = np.flatnonzero(self.label == number)
            dropped = noise.get(label, frozenset())
            remaining = [values for name, values in self.values.items() if name not in dropped]
            codes = np.zeros(len(where), dtype=np.int64)
            for values in remaining:
                codes = np.unique(codes * (int(values.max()) + 1) + values[self.text[where]], return_inverse=True)[1]
            _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
            order = np.argsort(first)  # by appearance
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            texts = tuple(
                set_text({name: value for name, value in self.found[text].items() if name not in dropped})
                for text in self.text[where[first[order]]].tolist()
            )
            sets[label] = (where, place[codes.reshape(-1)], texts)
        return sets


def table_of(
    rows: pl.DataFrame, block_starts: _Codes, experience_starts: _Codes, counts: npt.NDArray[np.bool_] | None
) -> ParameterTable:
    """Return the parameters of rows in columns; `counts` marks these rows in their lifetime."""
    texts = rows.get_column("task_params").fill_null(_BARE)
    starts = _stretches(texts, block_starts)
    plain: dict[str, frozenset[str]] = {}
    if len(starts) > _MANY:
        names = rows.get_column("task_name")
        plain = _plain_noise(texts, names, block_starts, experience_starts)
        texts = _without_noise(texts, names, plain)
        starts = _stretches(texts, block_starts)
    begins = np.zeros(rows.height, dtype=np.int64)
    begins[experience_starts] = 1
    positions = starts.tolist()
    text, distinct = _encode(texts.gather(positions))
    label, labels = _encode(rows.get_column("task_name").gather(positions).cast(pl.String))
    decoded = tuple(_decode(distinct))
    parameters = dict.fromkeys(name for params in decoded for name in params)
    return ParameterTable(
        starts=starts,
        block=np.searchsorted(block_starts, starts, side="right").astype(np.int64),
        label=label,
        experiences=np.add.reduceat(begins, starts),
        inside=begins[starts] == 0,
        text=text,
        labels=tuple(labels),
        found=decoded,
        values={name: _number(params.get(name) for params in decoded) for name in parameters},
        counts=counts,
        plain=plain,
    )


def _stretches(texts: pl.Series, block_starts: _Codes) -> _Codes:
    changed = texts.ne(texts.shift()).fill_null(True).to_numpy().copy()
    changed[block_starts] = True
    return np.flatnonzero(changed).astype(np.int64)


def _plain_noise(
    texts: pl.Series, names: pl.Series, block_starts: _Codes, experience_starts: _Codes
) -> dict[str, frozenset[str]]:
    """Noise that a block's first two experiences show already: a seed per episode, and the like."""
    positions = np.searchsorted(experience_starts, block_starts)
    second = experience_starts[np.minimum(positions + 1, len(experience_starts) - 1)]
    in_block = second < np.append(block_starts[1:], len(texts))
    firsts, seconds = block_starts[in_block & (second > block_starts)], second[in_block & (second > block_starts)]
    noise: dict[str, frozenset[str]] = {}
    pairs = (names.gather(firsts.tolist()), texts.gather(firsts.tolist()), texts.gather(seconds.tolist()))
    for label, first, other in zip(*(column.to_list() for column in pairs), strict=True):
        before, after = parameters(first), parameters(other)
        differ = (name for name in {*before, *after} if not same_value(before.get(name), after.get(name)))
        noise[label] = noise.get(label, frozenset()).union(differ)
    return noise


def _without_noise(texts: pl.Series, names: pl.Series, noise: Mapping[str, frozenset[str]]) -> pl.Series:
    """Return the texts without the noisy keys of their labels, if nothing in them is nested.

    Without braces inside and without backslashes, a name in quotes before a colon can be nothing but a parameter.
    """
    flat = ~(texts.str.slice(1).str.contains("{", literal=True) | texts.str.contains("\\", literal=True))
    for noisy in {names for names in noise.values() if names}:  # most labels share theirs
        words = "|".join(sorted(re.escape(json.dumps(name)) for name in noisy))
        cut = texts.str.replace_all(rf",\s*(?:{words}){_VALUE}|(?:{words}){_VALUE},?", "")
        concerned = names.cast(pl.String).is_in([label for label, label_noise in noise.items() if label_noise == noisy])
        texts = cut.zip_with(flat & concerned, texts)
    return texts


def _encode(column: pl.Series) -> tuple[_Codes, list[str]]:
    """Return the index of each cell among the distinct values, and these in order of appearance."""
    distinct = column.unique(maintain_order=True)
    numbers = pl.int_range(distinct.len(), eager=True)
    codes = column.replace_strict(distinct, numbers, return_dtype=pl.Int64).to_numpy()
    return codes, distinct.to_list()


def _decode(texts: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    """Return each text as parameters. Decoding all of them at once is three times as fast, if they are valid JSON."""
    try:
        decoded = msgspec.json.decode("[" + ",".join(text or _BARE for text in texts) + "]")
        if len(decoded) == len(texts) and all(type(params) is dict for params in decoded):
            yield from decoded
            return
    except (msgspec.DecodeError, RecursionError):
        pass
    yield from map(parameters, texts)


def _number(values: Iterator[Any]) -> _Codes:
    numbers: dict[Any, int] = {None: 0}
    return np.array([numbers.setdefault(_token(value), len(numbers)) for value in values], dtype=np.int64)


def _token(value: Any) -> Any:
    """Return a key that equal values share. For Python 1 equals 1.0, but also True."""
    kind = type(value)
    if value is None or kind is str or kind is int or (kind is float and not math.isnan(value)):
        return value
    return kind, set_text({"": value})
