"""What a verb takes on its command line: its options and arguments, declared once for all who read one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from perdure.frozen import frozen

__all__ = ["Declared", "Misused", "Parameter", "argument", "option", "parameters_of", "spelt_out"]

_IN_A_ROW = "..."  # ends the metavar of what takes several words one behind the other


class Misused(Exception):
    """What was typed is well-formed and contradicts itself; raised before anything is done."""


@frozen(eq=False)
class Declared:
    """What stands in a verb's annotations beside the type of a parameter."""

    flags: tuple[str, ...]
    """None of them: an argument, known by its place."""
    help: str
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    panel: str | None = None
    """The part of the help that it stands in."""
    hidden: bool = False
    show_default: bool = True
    completed: Callable[[str], list[str]] | None = None
    """What a shell offers for what was begun."""


def option(*flags: str, help: str, **more: Any) -> Declared:  # noqa: A002 - as its users call it
    """A parameter known by its flags."""
    return Declared(flags, help, **more)


def argument(*, help: str, **more: Any) -> Declared:  # noqa: A002
    """A parameter known by its place."""
    return Declared((), help, **more)


@frozen(eq=False)
class Parameter:
    """One of a verb's parameters, as its signature has it."""

    name: str
    declared: Declared
    annotation: Any
    """Its type, with None where that may be, and without what is declared of it."""
    default: Any

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty

    @property
    def kind(self) -> Any:
        """What one word of it is: `str`, `int`, `float`, `bool` or `Path`."""
        found = self._but_none()
        return get_args(found)[0] if self.several else str if self.choices else found

    @property
    def several(self) -> bool:
        """Whether it may be given more than once."""
        return get_origin(self._but_none()) is list

    @property
    def choices(self) -> tuple[str, ...]:
        """All that it may be; none where that is not settled."""
        found = self._but_none()
        return get_args(found) if get_origin(found) is Literal else ()

    @property
    def takes_value(self) -> bool:
        """Whether a word follows its flag."""
        return bool(self.declared.flags) and self.kind is not bool

    @property
    def in_a_row(self) -> bool:
        """Whether several words may follow its flag."""
        return self.takes_value and self.several and str(self.declared.metavar).endswith(_IN_A_ROW)

    def _but_none(self) -> Any:
        some = [one for one in get_args(self.annotation) if one is not NoneType]
        return some[0] if NoneType in get_args(self.annotation) and len(some) == 1 else self.annotation


def parameters_of(verb: Callable[..., None]) -> Iterator[Parameter]:
    """Of a verb, in the order of its signature."""
    hints = get_type_hints(verb, include_extras=True)
    for name, one in inspect.signature(verb).parameters.items():
        annotation, declared = get_args(hints[name])
        yield Parameter(name, declared, annotation, one.default)


def spelt_out(words: Sequence[str], taken: Sequence[Parameter]) -> list[str]:
    """`LOG --experts A B` as `LOG --experts A --experts B`.

    Before the first argument, a further word is that argument, where the verb takes any.
    """
    single = {flag for one in taken if one.takes_value for flag in one.declared.flags}
    greedy = {flag for one in taken if one.in_a_row for flag in one.declared.flags}
    seen = all(one.declared.flags for one in taken)
    spelt: list[str] = []
    current: str | None = None  # the option whose words are being read
    value_of: str | None = None  # an option whose first word comes next
    for at, word in enumerate(words):
        if value_of is not None:
            spelt.append(word)
            current = value_of if value_of in greedy and seen else None
            value_of = None
        elif word == "--":
            return [*spelt, *words[at:]]
        elif word.startswith("-") and word != "-":
            spelt.append(word)
            name = word.partition("=")[0]
            current = name if "=" in word and name in greedy and seen else None
            value_of = word if word in single else None
        elif current is not None:
            spelt += [current, word]
        else:
            seen = True
            spelt.append(word)
    return spelt
