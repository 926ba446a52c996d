"""The parameters of a lifetime in columns: which rows share them, which are noise, which sets they make."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.lazy import pl
from perdure.scenario.parameters import same_value, set_text

_BARE = "{}"
_MANY = 4096  # stretches: from here on, what changes with every experience is cut out of the text, not decoded
_VALUE = r'\s*:\s*(?:[^,{}\[\]"\s]+|"[^"]*"|\[[^\[\]{}"]*\])\s*'
_Codes = npt.NDArray[np.int64]


def parameters(text: str | None) -> dict[str, Any]:
    """The parameters that a cell of `task_params` holds; none where it is no JSON object."""
    if not text or text == _BARE:
        return {}
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        try:  # Python's own json, which L2Logger writes with, also has NaN and Infinity
            found = json.loads(text)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


class ParameterTable(msgspec.Struct, frozen=True, eq=False):
    """The parameters of a lifetime in columns, one row per *stretch*: rows of one block whose text is the same."""

    starts: _Codes
    """Where each stretch begins among the rows that count."""
    block: _Codes
    """Which block, as logged, it lies in."""
    label: _Codes
    """Which of `labels` it has."""
    experiences: _Codes
    """How many experiences begin in it."""
    inside: npt.NDArray[np.bool_]
    """Whether it begins inside an experience."""
    text: _Codes
    """Which of `found` it holds."""
    labels: tuple[str, ...]
    found: tuple[Mapping[str, Any], ...]
    """Each distinct text, decoded."""
    values: Mapping[str, _Codes]
    """Parameter → for each of `found` which value it has, numbered so that equal values have equal numbers."""
    counts: npt.NDArray[np.bool_] | None
    """Which rows of the lifetime count; None for all."""
    plain: Mapping[str, frozenset[str]]
    """Label → noise that was seen at once, and is left out of `found` where it could be."""

    def noise(self) -> dict[str, frozenset[str]]:
        """Label → its parameters with a run of one experience, or of less, in a block of two or more."""
        first = np.flatnonzero(np.diff(self.block, prepend=-1))
        short = np.repeat(np.add.reduceat(self.experiences, first) < 2, np.diff(np.append(first, len(self.block))))
        found: dict[str, set[str]] = {label: set(self.plain.get(label, ())) for label in self.labels}
        for name, values in self.values.items():
            here = values[self.text]
            changed = np.diff(here, prepend=-1) != 0
            changed[first] = True
            runs = np.flatnonzero(changed)
            alone = (np.add.reduceat(self.experiences, runs) < 2) & ~short[runs]
            torn = changed & self.inside  # changes while an experience lasts
            for label in np.unique(self.label[np.concatenate([runs[alone], np.flatnonzero(torn)])]).tolist():
                found[self.labels[label]].add(name)
        return {label: frozenset(names) for label, names in found.items()}

    def sets(self, noise: Mapping[str, frozenset[str]]) -> dict[str, tuple[_Codes, _Codes, tuple[str, ...]]]:
        """Label → its stretches, which set each has, and the sets in order of appearance, without `noise`."""
        found: dict[str, tuple[_Codes, _Codes, tuple[str, ...]]] = {}
        for number, label in enumerate(self.labels):
            where = np.flatnonzero(self.label == number)
            dropped = noise.get(label, frozenset())
            kept = [values for name, values in self.values.items() if name not in dropped]
            codes = np.zeros(len(where), dtype=np.int64)
            for values in kept:
                codes = np.unique(codes * (int(values.max()) + 1) + values[self.text[where]], return_inverse=True)[1]
            _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
            order = np.argsort(first)  # by appearance
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            texts = tuple(
                set_text({name: value for name, value in self.found[text].items() if name not in dropped})
                for text in self.text[where[first[order]]].tolist()
            )
            found[label] = (where, place[codes.reshape(-1)], texts)
        return found


def table_of(
    rows: pl.DataFrame, block_starts: _Codes, experience_starts: _Codes, counts: npt.NDArray[np.bool_] | None
) -> ParameterTable:
    """The parameters of rows in columns; `counts` says which rows of their lifetime they are."""
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
    at = starts.tolist()
    text, distinct = _coded(texts.gather(at))
    label, labels = _coded(rows.get_column("task_name").gather(at).cast(pl.String))
    found = tuple(_decoded(distinct))
    parameters = dict.fromkeys(name for one in found for name in one)
    return ParameterTable(
        starts=starts,
        block=np.searchsorted(block_starts, starts, side="right").astype(np.int64),
        label=label,
        experiences=np.add.reduceat(begins, starts),
        inside=begins[starts] == 0,
        text=text,
        labels=tuple(labels),
        found=found,
        values={name: _numbered(one.get(name) for one in found) for name in parameters},
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
    at = np.searchsorted(experience_starts, block_starts)
    second = experience_starts[np.minimum(at + 1, len(experience_starts) - 1)]
    inside = second < np.append(block_starts[1:], len(texts))
    firsts, seconds = block_starts[inside & (second > block_starts)], second[inside & (second > block_starts)]
    found: dict[str, frozenset[str]] = {}
    pairs = (names.gather(firsts.tolist()), texts.gather(firsts.tolist()), texts.gather(seconds.tolist()))
    for label, one, other in zip(*(column.to_list() for column in pairs), strict=True):
        before, after = parameters(one), parameters(other)
        differ = (name for name in {*before, *after} if not same_value(before.get(name), after.get(name)))
        found[label] = found.get(label, frozenset()).union(differ)
    return found


def _without_noise(texts: pl.Series, names: pl.Series, noise: Mapping[str, frozenset[str]]) -> pl.Series:
    """The texts without the noise of their labels, where it can be cut out: a text with nothing inside it nested.

    Without braces inside and without backslashes, a name in quotes before a colon can be nothing but a parameter.
    """
    flat = ~(texts.str.slice(1).str.contains("{", literal=True) | texts.str.contains("\\", literal=True))
    for found in {one for one in noise.values() if one}:  # most labels share theirs
        words = "|".join(sorted(re.escape(json.dumps(name)) for name in found))
        cut = texts.str.replace_all(rf",\s*(?:{words}){_VALUE}|(?:{words}){_VALUE},?", "")
        concerned = names.cast(pl.String).is_in([label for label, one in noise.items() if one == found])
        texts = cut.zip_with(flat & concerned, texts)
    return texts


def _coded(column: pl.Series) -> tuple[_Codes, list[str]]:
    """Which of its distinct values each cell has, and those values in order of appearance."""
    distinct = column.unique(maintain_order=True)
    numbers = pl.int_range(distinct.len(), eager=True)
    codes = column.replace_strict(distinct, numbers, return_dtype=pl.Int64).to_numpy()
    return codes, distinct.to_list()


def _decoded(texts: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    """Each text as parameters; all at once where they are what JSON allows, which is three times as fast."""
    try:
        together = msgspec.json.decode("[" + ",".join(text or _BARE for text in texts) + "]")
        if len(together) == len(texts) and all(type(one) is dict for one in together):
            yield from together
            return
    except (msgspec.DecodeError, RecursionError):
        pass
    yield from map(parameters, texts)


def _numbered(values: Iterator[Any]) -> _Codes:
    numbers: dict[Any, int] = {None: 0}
    return np.array([numbers.setdefault(_token(value), len(numbers)) for value in values], dtype=np.int64)


def _token(value: Any) -> Any:
    """What equal values share: Python holds 1 and 1.0 for equal, exactly, but also true and 1."""
    kind = type(value)
    if value is None or kind is str or kind is int or (kind is float and not math.isnan(value)):
        return value
    return kind, set_text({"": value})
