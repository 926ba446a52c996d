"""Parameters of episodes: the values they may have, equality of parameter sets, and distributions to draw from.

A draw depends only on (seed, block, index), never on earlier draws, so that episode 700 of block 3 has the same
parameters in every run.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perdure.errors import ScenarioError, nearest
from perdure.scenario.document import DuplicateKeys, quote

if TYPE_CHECKING:
    import numpy as np

    from perdure.scenario.model import Block


class UnfitParameterError(ScenarioError):
    """A parameter that an episode cannot have."""


def parameter_key(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a key that identifies a parameter set: 1 equals 1.0 but not true, and order does not matter."""
    return tuple(sorted((name, _canonical(value, name)) for name, value in params.items()))


def set_text(params: Mapping[str, Any]) -> str:
    """Return a logged parameter set as text, the same for equal sets: 1 is 1.0 and not true, null is absent."""
    return json.dumps(_plain(params), sort_keys=True, separators=(",", ":"))


def same_value(value: Any, other: Any) -> bool:
    """Return whether two logged values of a parameter are equal, as `set_text` compares them."""
    return set_text({"": value}) == set_text({"": other})


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
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
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


# --- distributions -------------------------------------------------------------------------------


class Distribution(Struct, frozen=True):
    """A way to draw one value: the form and the check of its arguments, and the draw itself."""

    form: str
    fits: Callable[[list[Any]], bool]
    draw: Callable[[list[Any], np.random.Generator, float], Any]


def _is_pair_of_numbers(arguments: list[Any]) -> bool:
    # The limit is far below the largest float, so that no difference of two numbers overflows.
    return len(arguments) == 2 and all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 for value in arguments
    )


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "$choice": Distribution(
        "[value, value, …], at least one",
        lambda arguments: len(arguments) > 0,
        lambda arguments, rng, _: arguments[int(rng.integers(len(arguments)))],
    ),
    "$linear": Distribution(
        "[first, last], two numbers",
        _is_pair_of_numbers,
        lambda arguments, _, fraction: float(arguments[0] * (1 - fraction) + arguments[1] * fraction),
    ),
    "$normal": Distribution(
        "[mean, standard deviation], the second not negative",
        lambda arguments: _is_pair_of_numbers(arguments) and arguments[1] >= 0,
        lambda arguments, rng, _: float(rng.normal(*arguments)),
    ),
    "$uniform": Distribution(
        "[low, high], low not above high",
        lambda arguments: _is_pair_of_numbers(arguments) and arguments[0] <= arguments[1],
        lambda arguments, rng, _: float(rng.uniform(*arguments)),
    ),
}


def distribution_problem(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the problem and the fix of an object that has a `$` key, or None if it is a distribution."""
    word = next(key for key in value if key.startswith("$"))
    if word not in DISTRIBUTIONS:
        return f"unknown distribution {word!r}", nearest(word, DISTRIBUTIONS)
    if len(value) > 1:
        others = ", ".join(repr(key) for key in value if key != word)
        return f"{word} stands beside {others}", f"leave {word} alone in its object"
    arguments = value[word]
    if not isinstance(arguments, list) or not DISTRIBUTIONS[word].fits(arguments):
        return f"{word} cannot be drawn from {quote(arguments)}", f"write {word}: {DISTRIBUTIONS[word].form}"
    return None


def is_drawn(value: Any, word: str | None = None) -> bool:
    """Return whether `value` holds a distribution (only this one, if `word` is given) at any depth."""
    if isinstance(value, Mapping):
        return any(key == word if word else key in DISTRIBUTIONS for key in value) or any(
            is_drawn(inner, word) for inner in value.values()
        )
    return isinstance(value, list) and any(is_drawn(inner, word) for inner in value)


def draw_parameters(
    params: Mapping[str, Any], seed: int, block: int, index: int, fraction: float = 0.0
) -> dict[str, Any]:
    """Return the parameters of one episode, with every distribution replaced by a drawn value.

    `fraction` is the position of the episode in its block, from 0 for the first to 1 for the last; `$linear` follows
    it. Keys are drawn in sorted order, so the order in the file does not matter.
    """
    if not is_drawn(params):
        return dict(params)
    import numpy as np

    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, index)))
    values = {key: _draw(params[key], rng, fraction) for key in sorted(params)}
    return {key: values[key] for key in params}


def episodes(block: Block, position: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each episode of a block.

    `position` is the block's index in its scenario. The iterator is infinite for a block whose length is given in
    steps: its runner stops when the steps are used up.
    """
    last = (block.length or 0) - 1
    for index in itertools.count() if block.length is None else range(block.length):
        yield draw_parameters(block.params, seed, position, index, index / last if last > 0 else 0.0)


def _draw(value: Any, rng: np.random.Generator, fraction: float) -> Any:
    if isinstance(value, list):
        return [_draw(inner, rng, fraction) for inner in value]
    if not isinstance(value, Mapping):
        return value
    word = next(iter(value), "")
    if word in DISTRIBUTIONS:
        return DISTRIBUTIONS[word].draw(value[word], rng, fraction)
    return {key: _draw(value[key], rng, fraction) for key in sorted(value)}
