"""Documents as structs: their JSON Schema is made from the fields, their types, and the text below each."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Several = Annotated[int, Meta(ge=2)]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(pattern=r"^[^./\\][^/\\]*$")]


_Parts = dict[type[msgspec.Struct], None]


class Part(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of a document, all of whose keys are known."""

    FURTHER: ClassVar[Mapping[str, Any]] = {}
    """What JSON Schema can say of it and types cannot."""


def schema_of(document: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a document. Docstrings and the texts below fields become its descriptions.

    A document is one that users write, with `FURTHER` and perhaps `NULLS`, or a result, which writes all of its fields.
    """
    _, found = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
    for one in _parts(document):
        made = found[one.__name__]
        if hasattr(one, "FURTHER") or hasattr(one, "NULLS"):
            made.update(getattr(one, "FURTHER", {}))
            if not getattr(one, "NULLS", True):
                made["properties"] = {name: _without_null(part) for name, part in made["properties"].items()}
        else:
            written = [field.encode_name for field in msgspec.structs.fields(one) if field.default is not msgspec.UNSET]
            made.update(required=written, additionalProperties=False)
            for described in made["properties"].values():
                described.pop("default", None)
        made["description"] = " ".join((one.__doc__ or "").split())
        keys = {field.name: field.encode_name for field in msgspec.structs.fields(one)}
        for name, text in _texts(one).items():
            made["properties"][keys[name]]["description"] = text
    top = found.pop(document.__name__)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **top}
    return {**made, "$defs": dict(sorted(found.items()))} if found else made


def _parts(part: type[msgspec.Struct], seen: _Parts | None = None) -> _Parts:
    """A document and every part that its fields lead to."""
    seen = {} if seen is None else seen
    if part not in seen:
        seen[part] = None
        for field in msgspec.inspect.type_info(part).fields:  # type: ignore[attr-defined]
            for one in _inside(field.type):
                _parts(one, seen)
    return seen


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field for which None means that the key is not given."""
    kinds = [kind for kind in part.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == len(part.get("anyOf", [])):
        return part
    rest = {key: value for key, value in part.items() if key not in ("anyOf", "default")}
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), **rest}


def _inside(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The parts that a field's type names."""
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
    for name in ("type", "types", "item_type", "value_type"):
        found = getattr(kind, name, ())
        for one in found if isinstance(found, tuple) else (found,):
            yield from _inside(one)


def _texts(part: type[msgspec.Struct]) -> dict[str, str]:
    """Return the text below each field in the source, for inherited fields as well."""
    found: dict[str, str] = {}
    for one in reversed(part.__mro__):
        if not (issubclass(one, msgspec.Struct) and one.__struct_fields__) or one is Part:
            continue
        (body,) = ast.parse(dedent(inspect.getsource(one))).body
        assert isinstance(body, ast.ClassDef)
        for before, after in pairwise(body.body):
            match before, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    found[name] = " ".join(text.split())
    found.pop("FURTHER", None)
    return found
