"""JSON Schemas of inputs and outputs: those that ship in `perdure/schemas` are written from the Structs here.

The schema of a syllabus is written by hand, because Structs cannot express its language.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import UnionType
from typing import Annotated, Any, ClassVar, ForwardRef, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UnsetType

from perdure.results import json_keys

__all__ = ["DOCUMENTS", "FOLDER", "SYLLABUS", "document", "document_of", "schema", "text"]

FOLDER = Path(__file__).parents[1] / "src" / "perdure" / "schemas"
SYLLABUS = "syllabus"
DOCUMENTS = {
    "score": "perdure.stats.groups:GroupedSurvey",
    "compare": "perdure.stats.systems:Comparisons",
    "plan": "perdure.stats.plan:Plan",
    "protocol": "perdure.runner.document:ProtocolTable",
}
"""Schema → its declaration."""


def document(name: str) -> Any:
    """Return the Struct of a document."""
    module, _, attribute = DOCUMENTS[name].partition(":")
    declared = getattr(import_module(module), attribute)
    if name not in ("score", "compare"):
        return declared
    return document_of(declared, settings=settings_document()) if name == "score" else document_of(declared)


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`."""
    if name == SYLLABUS:
        return dict(json.loads((FOLDER / "syllabus.schema.json").read_text(encoding="utf-8")))
    return schema_of(document(name))


# --- schemas from Structs -------------------------------------------------------------------------

_Parts = dict[type[msgspec.Struct], None]
_ATTRIBUTES = "Attributes\n----------\n"


class DocumentPart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of a document, all of whose keys are known."""

    FURTHER: ClassVar[Mapping[str, Any]] = {}
    """Constraints that JSON Schema can express and types cannot."""


def schema_of(document: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a document. Docstrings and the texts below fields become its descriptions.

    A document is one that users write, with `FURTHER` and perhaps `NULLS`, or a result, which writes all of its fields.
    """
    _, components = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
    for part in _parts(document):
        schema = components[part.__name__]
        if hasattr(part, "FURTHER") or hasattr(part, "NULLS"):
            schema.update(getattr(part, "FURTHER", {}))
            if not getattr(part, "NULLS", True):
                schema["properties"] = {name: _without_null(part) for name, part in schema["properties"].items()}
        else:
            written = [
                field.encode_name for field in msgspec.structs.fields(part) if field.default is not msgspec.UNSET
            ]
            schema.update(required=written, additionalProperties=False)
            for described in schema["properties"].values():
                described.pop("default", None)
        about = inspect.cleandoc(part.__doc__ or "").partition(_ATTRIBUTES)[0]
        schema["description"] = " ".join(about.split())
        keys = {field.name: field.encode_name for field in msgspec.structs.fields(part)}
        for name, text in _texts(part).items():
            schema["properties"][keys[name]]["description"] = text
    top = components.pop(document.__name__)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **top}
    return {**schema, "$defs": dict(sorted(components.items()))} if components else schema


_documents: dict[type, type[msgspec.Struct]] = {}


def document_of(record: type[msgspec.Struct], **kinds: Any) -> type[msgspec.Struct]:
    """Return the Struct of a result's JSON: its keys, with the types and the texts of the attributes behind them.

    `kinds` are types of keys that replace those of the attributes.
    """
    if record not in _documents:
        fields: list[tuple[str, Any, Any]] = []
        texts: dict[str, str] = {}
        for key, path in json_keys(record).items():
            hint, texts[key] = _attribute(record, path)
            kind = kinds.get(key) or _in_json(hint, record)
            optional = UnsetType in get_args(kind)
            fields.append((key, kind, msgspec.UNSET if optional else msgspec.NODEFAULT))
        struct = msgspec.defstruct(
            record.__name__, fields, bases=(DocumentPart,), namespace={"__doc__": record.__doc__}, kw_only=True
        )
        struct.TEXTS = {key: text for key, text in texts.items() if text}  # type: ignore[attr-defined]
        setattr(struct, record.__name__, struct)  # resolves the record's references to itself
        _documents[record] = struct
    return _documents[record]


def settings_document() -> type[msgspec.Struct]:
    """Return the Struct of the settings in a result: every setting by name, and the preparation that was done."""
    from perdure.curves.model import Preparation
    from perdure.settings import OPTIONS, Settings

    nullable = {field.name for field in msgspec.structs.fields(Settings) if field.default is None}
    prepared = {field.name: field for field in msgspec.structs.fields(Preparation)}
    hints = get_type_hints(Preparation, include_extras=True)
    kinds: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        missing = prepared[name].default is None if option.prepares else name in nullable
        kinds[name] = option.type | None if missing else option.type
    kinds |= {name: hints[name] for name in prepared if name not in kinds and name != "unit"}
    kinds |= {"counted": hints["unit"], "experts": list[str]}
    struct = msgspec.defstruct("Settings", [*kinds.items()], bases=(DocumentPart,), kw_only=True)
    struct.__doc__ = "Every setting by name, and the preparation that was done."
    texts = _texts(Preparation)
    helps = {name: option.help for name, option in OPTIONS.items()}
    struct.TEXTS = {  # type: ignore[attr-defined]
        **{name: text for name, text in texts.items() if name in kinds},
        **helps,
        "counted": texts["unit"],
        "experts": "Experts that were given or found.",
    }
    return struct


def _attribute(record: type, path: str) -> tuple[Any, str]:
    """Return the type and the text of a field or a property."""
    name, _, rest = path.partition(".")
    attribute = inspect.getattr_static(record, name)
    getter = getattr(attribute, "fget", None) or getattr(attribute, "func", None)
    if getter is not None:
        hint, text = get_type_hints(getter, include_extras=True)["return"], getter.__doc__ or ""
    else:
        hint, text = get_type_hints(record, include_extras=True)[name], _texts(record).get(name, "")
    if get_origin(hint) is ClassVar:
        (hint,) = get_args(hint)
    return _attribute(hint, rest) if rest else (hint, " ".join(text.split()))


def _in_json(hint: Any, record: type) -> Any:
    """Return the type that a value of this type has in JSON."""
    if hint is record:
        return ForwardRef(record.__name__)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return document_of(hint)
    if isinstance(hint, type) and issubclass(hint, str):
        return str
    arguments = get_args(hint)
    if not arguments or get_origin(hint) is Literal:
        return hint
    if get_origin(hint) is Annotated:
        return Annotated[(_in_json(arguments[0], record), *arguments[1:])]
    kinds = tuple(_in_json(argument, record) for argument in arguments)
    return Union[kinds] if get_origin(hint) in (Union, UnionType) else get_origin(hint)[kinds]  # noqa: UP007


def _parts(part: type[msgspec.Struct], seen: _Parts | None = None) -> _Parts:
    """Yield a document and every Struct that its fields refer to."""
    seen = {} if seen is None else seen
    if part not in seen:
        seen[part] = None
        for field in msgspec.inspect.type_info(part).fields:  # type: ignore[attr-defined]
            for struct in _inside(field.type):
                _parts(struct, seen)
    return seen


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field for which None means that the key is not given."""
    kinds = [kind for kind in part.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == len(part.get("anyOf", [])):
        return part
    rest = {key: value for key, value in part.items() if key not in ("anyOf", "default")}
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), **rest}


def _inside(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the Structs in a field's type."""
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
    for name in ("type", "types", "item_type", "value_type"):
        described = getattr(kind, name, ())
        for struct in described if isinstance(described, tuple) else (described,):
            yield from _inside(struct)


def _texts(part: type[msgspec.Struct]) -> dict[str, str]:
    """Return the text of each field, inherited ones included: its entry under Attributes, or the text below it."""
    if hasattr(part, "TEXTS"):
        return dict(part.TEXTS)
    texts: dict[str, str] = {}
    for base in reversed(part.__mro__):
        if not (issubclass(base, msgspec.Struct) and base.__struct_fields__) or base is DocumentPart:
            continue
        attributes = inspect.cleandoc(base.__doc__ or "").partition(_ATTRIBUTES)[2]
        for name, text in re.findall(r"^(\w+)\n((?:    .+\n?)+)", attributes, re.MULTILINE):
            texts[name] = " ".join(text.replace("``", "").split())
        (body,) = ast.parse(dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for before, after in pairwise(body.body):
            match before, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    texts[name] = " ".join(text.split())
    texts.pop("FURTHER", None)
    return texts


# --- files ----------------------------------------------------------------------------------------

_WIDTH = 120


def text(name: str) -> str:
    """Return the text of the schema file `name`."""
    return _laid_out(schema(name)) + "\n"


def _laid_out(value: Any, indent: str = "") -> str:
    """Format JSON so that short values stay on one line."""
    plain = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(plain) <= _WIDTH or not isinstance(value, dict | list):
        return plain
    deeper, ends = indent + "  ", "{}" if isinstance(value, dict) else "[]"
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    items = value.values() if isinstance(value, dict) else value
    lines = (f"{deeper}{key}{_laid_out(item, deeper)}" for key, item in zip(keys, items, strict=True))
    return ends[0] + "\n" + ",\n".join(lines) + f"\n{indent}{ends[1]}"


if __name__ == "__main__":
    for one in DOCUMENTS:
        (FOLDER / f"{one}.schema.json").write_text(text(one), encoding="utf-8")
