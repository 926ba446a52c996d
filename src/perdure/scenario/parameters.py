"""Parameter sets: which values a parameter may have, and when two sets are equal."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from perdure.errors import ScenarioError
from perdure.scenario.distributions import distribution_problem
from perdure.scenario.document import DuplicateKeys


class UnfitParameterError(ScenarioError):
    """A parameter that an episode cannot have."""


def parameter_key(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a key that identifies a parameter set: 1 equals 1.0 but not true, and order does not matter."""
    return tuple(sorted((name, _canonical(value, name)) for name, value in params.items()))


def set_text(params: Mapping[str, Any]) -> str:
    """Return a logged parameter set as text, the same for equal sets: 1 is 1.0 and not true, null is absent."""
    return json.dumps(_plain(params), sort_keys=True, separators=(",", ":"))


def same_value(one: Any, other: Any) -> bool:
    """Return whether two logged values of a parameter are equal, as `set_text` compares them."""
    return set_text({"": one}) == set_text({"": other})


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # exactly, so that 2⁵³ + 1 is not 2⁵³ as a float
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    return value


def _canonical(value: Any, name: str) -> Any:
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, float) and not math.isfinite(value):
        raise UnfitParameterError(f"parameter {name!r} is {value}, which is not finite", "write a finite number")
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
        raise UnfitParameterError(f"parameter {name!r} holds half a character ({value!r})", "write whole characters")
    if isinstance(value, list | tuple):
        return "list", *(_canonical(inner, name) for inner in value)
    if not isinstance(value, Mapping):
        return value
    if isinstance(value, DuplicateKeys):
        raise UnfitParameterError(
            f"in parameter {name!r} the key {value.duplicates[0]!r} occurs twice", "keep one of them"
        )
    if any(key.startswith("$") for key in value):
        problem = distribution_problem(value)
        if problem:
            raise UnfitParameterError(*problem, where=f"parameter {name!r}")
    return "object", *sorted((key, _canonical(inner, name)) for key, inner in value.items())
