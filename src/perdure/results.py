"""Results as tables, data frames and JSON, and their display in notebooks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from perdure.errors import PerdureError, nearest
from perdure.lazy import pl

T = TypeVar("T", bound=msgspec.Struct)

CHECKSUM = "checksum"
_PLAIN = frozenset({str, int, float, bool, NoneType})
_WORDS = {str: "text", int: "a whole number", float: "a finite number", bool: "true or false", NoneType: "null"}


def json_keys(record: type) -> dict[str, str]:
    """Return the keys of a record in JSON, each with the path of its attribute.

    A class whose JSON differs from its fields lists the keys as `JSON`: `"n"`, or `"threshold:bar.threshold"` if the
    attribute has another name or belongs to another record. Properties count as attributes.
    """
    names = getattr(record, "JSON", None)
    if names is None:
        return {field.encode_name: field.name for field in msgspec.structs.fields(record)}
    return {key: path or key for key, _, path in (name.partition(":") for name in names)}


@cache
def _reader(record: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    keys = json_keys(record)
    return tuple(keys), attrgetter(*keys.values())


def to_plain(value: Any) -> Any:
    """Return a result, and the records in it, as the dicts and lists of JSON."""
    if isinstance(value, msgspec.Struct):
        keys, read = _reader(type(value))
        values = zip(keys, read(value), strict=True)
        return {
            key: item if type(item) in _PLAIN else to_plain(item) for key, item in values if item is not msgspec.UNSET
        }
    if isinstance(value, Mapping):
        return {key: item if type(item) in _PLAIN else to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else to_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


@cache
def _fields(record: type) -> dict[str, tuple[str, msgspec.structs.FieldInfo]]:
    """Return the keys of a record that are fields, each with the field and with the field of the record around it."""
    fields: dict[str, tuple[str, msgspec.structs.FieldInfo]] = {}
    for key, path in json_keys(record).items():
        owner, _, name = path.rpartition(".")
        holder = get_type_hints(record)[owner] if owner else record
        fields.update((key, (owner, field)) for field in msgspec.structs.fields(holder) if field.name == name)
    return fields


def from_plain(record: type[T], facts: Mapping[str, Any], where: str = "", **parts: Any) -> T:
    """Return the record that `to_plain` wrote as `facts`; null means the default of a field that has one.

    `parts` are fields that the caller has read. Raise PerdureError for an unknown key and for a value that does not
    fit. Keys of properties are not read.
    """
    refuse_unknown(facts, json_keys(record), where)
    values: dict[str, Any] = {}
    for key, (owner, field) in _fields(record).items():
        if field.required and key not in facts and key not in parts:
            raise PerdureError(f"has no {key!r}", f"expected {_expected(field.type)}", where=where or None)
        if field.required or facts.get(key) is not None:
            (values.setdefault(owner, {}) if owner else values)[field.name] = facts.get(key)
    try:
        return msgspec.convert(values | parts, record, dec_hook=lambda kind, value: kind.read(value))
    except msgspec.ValidationError as problem:
        place = str(problem).partition(" - at `$.")[2]
        for key, (owner, field) in _fields(record).items():
            if re.match(rf"{f'{owner}.' if owner else ''}{field.name}\b", place):
                fix = f"expected {_expected(field.type)}"
                raise PerdureError(f"{key} is {facts.get(key)!r}", fix, where=where or None) from problem
        raise


def refuse_unknown(facts: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    """Raise PerdureError, with the nearest name, for a key that is not known."""
    for key in facts.keys() - set(known):
        raise PerdureError(f"unknown key {key!r}", nearest(key, sorted(known)), where=where or None)


def _expected(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(str(word) or "empty" for word in get_args(hint))
    if NoneType in get_args(hint):
        return " or ".join(map(_expected, get_args(hint)))
    return _WORDS.get(hint, "a list" if get_origin(hint) is tuple else "an object")


def with_checksum(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a JSON document with their checksum, by which a later change is noticed."""
    return {**facts, CHECKSUM: checksum_of(facts)}


def checksum_of(facts: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON document, which ignores its layout. Raise ValueError for NaN and infinity."""
    checksum = hashlib.sha256()
    for name in sorted(facts):
        # Item by item, so that the text of ten thousand lifetimes is never in memory as a whole.
        items = facts[name] if isinstance(facts[name], list | tuple) else [facts[name]]
        for part in (name, len(items), *items):
            checksum.update(json.dumps(part, allow_nan=False, sort_keys=True, default=str).encode())
            checksum.update(b"\n")
    return checksum.hexdigest()


class LeftOut(msgspec.Struct, frozen=True):
    """A log or expert that was given and not used."""

    path: str
    why: str


class LeftOutLifetime(msgspec.Struct, frozen=True):
    """A lifetime that does not count."""

    id: str
    why: str


class Shown:
    """A result that notebooks display."""

    def _repr_html_(self) -> str:
        # The display uses modules of later stages, which are imported only when needed.
        from perdure.notebook import result_html

        return result_html(self)


class Tabular(Shown):
    """A result with a table and a JSON form."""

    def __bool__(self) -> bool:
        # An empty result is true: a check without problems is not a failure.
        return True

    def as_json(self) -> dict[str, Any]:
        """Return the whole result as one JSON object."""
        return dict(to_plain(self))

    def table(self) -> pl.DataFrame:
        """Return the result as a Polars data frame."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the result as a pandas data frame; pandas must be installed."""
        try:
            import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            raise PerdureError("pandas is not installed here", "pip install pandas, or use .table()") from None
        return pd.DataFrame(self.table().to_dict(as_series=False))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the whole result as JSON text."""
        return json.dumps(self.as_json(), ensure_ascii=False, allow_nan=False, indent=indent, default=str)
