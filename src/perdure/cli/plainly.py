"""A command line in so many words, read without the library for all others, which takes longer to load than to work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.cli.parameters import Parameter, spelt_out

__all__ = ["read_plainly"]


class _NotPlain(Exception):
    """It is wrong, or asks for help, or is written in some rarer way."""


def read_plainly(words: Sequence[str], taken: Sequence[Parameter]) -> dict[str, Any] | None:
    """What these words give a verb's parameters; None where Typer has to look at them."""
    try:
        given = _sorted_out(spelt_out(words, taken), taken)
        return {one.name: _value(one, given[one.name]) for one in taken}
    except _NotPlain:
        return None


def _sorted_out(words: Sequence[str], taken: Sequence[Parameter]) -> dict[str, list[str]]:
    """The words of each parameter, by its name; of a switch, its flag."""
    flags = {flag: one for one in taken for flag in one.declared.flags}
    given: dict[str, list[str]] = {one.name: [] for one in taken}
    loose: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in flags:
            one = flags[word]
            given[one.name].append(_plain(next(rest, "--")) if one.takes_value else word)  # "--" is no word either
        else:
            loose.append(_plain(word))
    for one in taken:
        if not one.declared.flags:
            given[one.name] = loose if one.several else loose[:1]
            loose = [] if one.several else loose[1:]
    if loose:
        raise _NotPlain
    return given


def _plain(word: str) -> str:
    """A word that is no flag."""
    if word.startswith("-") and word != "-":
        raise _NotPlain
    return word


def _value(one: Parameter, words: Sequence[str]) -> Any:
    if not words:
        if one.required:
            raise _NotPlain
        return one.default
    if one.several:
        return [_read(one, word) for word in words]
    if one.kind is bool:
        return True
    if len(words) > 1:
        raise _NotPlain
    return _read(one, words[0])


def _read(one: Parameter, word: str) -> Any:
    if one.choices and word not in one.choices:
        raise _NotPlain
    try:
        found = one.kind(word)
    except ValueError:
        raise _NotPlain from None
    least, most = one.declared.least, one.declared.most
    if (least is not None and found < least) or (most is not None and found > most):
        raise _NotPlain
    return found
