"""Public functions held to their signatures: an argument of another type is refused in words, with what to give.

The types in the signature are the one statement of what a function takes. What they leave open (logs, tables,
matrices) is let through, and the function itself says what it makes of it.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import numbers
import os
import re
import reprlib
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from perdure.errors import PerdureError, nearest
from perdure.words import listed

__all__ = ["held_to_its_signature", "held_to_signature"]

P = ParamSpec("P")
R = TypeVar("R")

_SHOWN = (bool, int, float, str, bytes, list, tuple, dict, set, types.NoneType)
_LOOKED_AT = 1000  # elements of a list: what is longer holds what its first ones are

_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Mapping: "a dict",
    Callable: "a function",
    os.PathLike: "a path",
}


@functools.cache
def held_to_its_signature(function: Callable[..., Any], place: str) -> Callable[..., Any]:
    """The function, which is public as `place`, with its arguments looked at before it sees them."""
    held = held_to_signature(place)(function)
    held.__module__, _, held.__qualname__ = place.rpartition(".")  # a pickle looks for it where it is public
    return held


def held_to_signature(
    place: str, error: type[PerdureError] = PerdureError, but: Collection[str] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For the `__init__` of a public class, as `held_to_its_signature` is for functions; `but` is not looked at."""

    def held_by(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        hints: dict[str, Any] | None = None

        @functools.wraps(function)
        def held(*args: P.args, **named: P.kwargs) -> R:
            nonlocal hints
            try:
                bound = signature.bind(*args, **named)
            except TypeError:
                return function(*args, **named)  # Python's own words: an argument is missing, or has another name
            for name, value in bound.arguments.items():
                parameter = signature.parameters[name]
                if value is parameter.default or parameter.kind is parameter.VAR_KEYWORD or name in but:
                    continue
                if hints is None:
                    hints = _types(function)
                hint = hints.get(name, Any)
                if not _fits(value, hint):
                    raise error(f"{name} is {_shown(value)}", _wanted(value, hint), where=place)
                if isinstance(value, numbers.Real) and hasattr(value, "item"):
                    bound.arguments[name] = value.item()  # NumPy's numbers are none of Python's to those who ask
            return function(*bound.args, **bound.kwargs)

        return held

    return held_by


class _Names(dict[str, Any]):
    """Names as a module has them; one that only type checkers see there may be public, or else is anything."""

    def __missing__(self, name: str) -> Any:
        import perdure

        return getattr(builtins, name, None) or getattr(perdure, name, Any)


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    """What its signature says of each argument, and nothing where that is no type."""
    plain = inspect.unwrap(function)
    try:
        return get_type_hints(plain, localns=_Names(plain.__globals__))
    except (AttributeError, TypeError):
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type; what cannot be told is."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        return any(_fits(value, one) for one in inside)
    if kind is Literal:
        return any(type(value) is type(one) and value == one for one in inside)
    if kind is bool:
        return isinstance(value, numbers.Integral) or type(value).__name__ in ("bool", "bool_")
    if kind in (int, float):
        return isinstance(value, numbers.Integral if kind is int else numbers.Real)
    if kind in (Sequence, Iterable):
        return not (kind is Sequence and isinstance(value, Mapping)) and _fit_inside(value, inside)
    if kind is tuple and inside:
        return isinstance(value, list | tuple) and _fit_each(value, inside)  # as JSON and TOML have no tuples
    if _is_array(kind):
        return _holds_numbers(value)
    try:
        fits = isinstance(value, kind)
    except TypeError:
        return True  # no class, or one that says nothing of its instances
    if fits and kind is Mapping and inside:
        return all(_fits(key, inside[0]) and _fits(one, inside[1]) for key, one in value.items())
    return fits


def _fit_inside(value: Any, inside: tuple[Any, ...]) -> bool:
    """Whether it can be gone through, and what is there to be looked at is of the type inside."""
    if isinstance(value, str | bytes):
        return False  # one where several are meant, which would be its letters
    if isinstance(value, list | tuple | set | dict) and inside:
        return all(_fits(one, inside[0]) for one in islice(value, _LOOKED_AT))
    return isinstance(value, Iterable)


def _fit_each(value: Sequence[Any], inside: tuple[Any, ...]) -> bool:
    """Whether each is of its own type, or all of the one that may stand any number of times."""
    if inside[-1] is Ellipsis:
        return _fit_inside(value, inside)
    return len(value) == len(inside) and all(map(_fits, value, inside))


def _is_array(kind: Any) -> bool:
    return getattr(kind, "__module__", "").startswith("numpy") and kind.__name__ != "Generator"


def _holds_numbers(value: Any) -> bool:
    """Whether it is an array of numbers, or a list that makes one."""
    import numpy as np

    if not (hasattr(value, "__array__") or isinstance(value, list | tuple)):
        return False
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):
        return False  # rows of several lengths


def _shown(value: Any) -> str:
    if isinstance(value, _SHOWN):
        return reprlib.repr(value)
    return _one(type(value).__name__)


def _wanted(value: Any, hint: Any) -> str:
    """What to give instead; of words, the nearest."""
    choices = [one for part in (hint, *get_args(hint)) if get_origin(part) is Literal for one in get_args(part)]
    if choices and isinstance(value, str):
        return nearest(value, choices)
    return f"give {listed(dict.fromkeys(_called(hint)), 'or')}"


def _called(hint: Any) -> list[str]:
    """What values of a type are called by those who give them."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        parts = [one for one in inside if one is not types.NoneType]
        kinds = [get_origin(one) or one for one in parts]
        if any(map(_is_array, kinds)):
            return ["an array of numbers"]
        if os.PathLike in kinds:
            parts.remove(str)  # a path is text too, and is called by what it names
        return [name for one in parts for name in _called(one)]
    if kind is Literal:
        return [repr(one) for one in inside]
    if kind in (Sequence, Iterable) or (kind is tuple and inside[1:] == (Ellipsis,)):
        return [f"a list of {listed(map(_several, _called(inside[0])), 'or')}"]
    if kind is tuple and inside:
        return [f"({', '.join(one for part in inside for one in _called(part))})"]
    if kind is Mapping and inside and inside[1] is not Any:
        return [f"a dict with {listed(_called(inside[1]), 'or')} for each name"]
    if kind in _WORDS or _is_array(kind):
        return [_WORDS.get(kind, "an array of numbers")]
    if kind.__name__ == "Generator":
        return ["numpy.random.default_rng(seed)"]
    import perdure

    return [f"perdure.{kind.__name__}" if kind.__name__ in perdure.__all__ else _one(kind.__name__)]


def _one(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _several(name: str) -> str:
    return re.sub(r"^an? (whole number|\w+)", r"\1s", name)
