"""`@frozen` is held to `@dataclass(frozen=True)`, which it stands for."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.frozen import frozen


@frozen
class Point:
    """One that can be pickled: it has a name in its module."""

    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list, hash=False)


KINDS = st.sampled_from(
    ["plain", "default", "factory", "hidden", "not compared", "not hashed", "named", "outside", "left"]
)


def _declared(kinds: list[str]) -> list[tuple[str, type, Any]]:
    """Fields of these kinds, those without a default first, as Python wants them."""
    made: dict[str, Callable[[], Any]] = {
        "plain": field,
        "default": lambda: field(default=7),
        "factory": lambda: field(default_factory=lambda: 9),
        "hidden": lambda: field(repr=False),
        "not compared": lambda: field(compare=False),
        "not hashed": lambda: field(hash=False),
        "named": lambda: field(kw_only=True),
        "outside": lambda: field(init=False, default_factory=lambda: 11),
        "left": lambda: field(init=False, default=13),
    }
    late = ("default", "factory", "outside", "left")
    ordered = sorted(kinds, key=lambda kind: kind in late)
    return [(f"f{number}", int, made[kind]()) for number, kind in enumerate(ordered)]


def _class(kinds: list[str], decorate: Callable[[type], type], base: type = object, first: int = 0) -> type:
    declared = _declared(kinds)
    names = {f"g{first}{name}": one for name, _, one in declared}
    body = {"__annotations__": dict.fromkeys(names, "int"), "__module__": __name__, "__doc__": "One.", **names}
    return decorate(type("Made", (base,), body))


def _standard(cls: type) -> type:
    return dataclasses.dataclass(frozen=True)(cls)


def _outcome(made: type, values: list[int], named: dict[str, int]) -> Any:
    try:
        return made(*values, **named)
    except TypeError as problem:
        return type(problem)


@given(st.lists(KINDS, max_size=6), st.lists(st.integers(0, 2), max_size=7), st.data())
def test_a_frozen_class_behaves_as_the_standard_one(kinds: list[str], values: list[int], data: st.DataObject) -> None:
    ours, standard = _class(kinds, frozen), _class(kinds, _standard)
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    assert ours.__match_args__ == standard.__match_args__  # type: ignore[attr-defined]
    assert [one.name for one in fields(ours)] == [one.name for one in fields(standard)]
    names = [one.name for one in fields(ours) if one.init and one.kw_only]
    named = {name: data.draw(st.integers(0, 2)) for name in names if data.draw(st.booleans())}
    one, other = (_outcome(made, values, named) for made in (ours, standard))
    if isinstance(other, type):
        assert one is other
        return
    assert repr(one) == repr(other)
    assert hash(one) == hash(ours(*values, **named))
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    for given_ in fields(ours):
        if given_.init:
            changed, theirs = replace(one, **{given_.name: 1}), replace(other, **{given_.name: 1})
            assert (changed == one, repr(changed)) == (theirs == other, repr(theirs))
            assert (hash(changed) == hash(one)) == (hash(theirs) == hash(other))
        with pytest.raises(FrozenInstanceError, match=given_.name):
            setattr(one, given_.name, 3)
        with pytest.raises(FrozenInstanceError, match=given_.name):
            delattr(one, given_.name)


@given(st.lists(st.sampled_from(["default", "factory", "left"]), max_size=3), st.lists(KINDS, max_size=3))
def test_a_class_that_inherits_has_the_fields_of_both(above: list[str], below: list[str]) -> None:
    late = [kind if kind not in ("plain", "hidden", "not compared", "not hashed") else "default" for kind in below]
    ours = _class(late, frozen, _class(above, frozen), 1)
    standard = _class(late, _standard, _class(above, _standard), 1)
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    needed = {one.name: 5 for one in fields(ours) if one.kw_only}
    assert repr(ours(**needed)) == repr(standard(**needed))


@pytest.mark.parametrize("decorate", [frozen, _standard])
@pytest.mark.parametrize("above", [frozen, _standard])
def test_either_kind_inherits_from_either(above: Callable[[type], type], decorate: Callable[[type], type]) -> None:
    made = _class(["default"], decorate, _class(["factory"], above), 1)
    one = made()
    assert [field.name for field in fields(made)] == ["g0f0", "g1f0"]
    assert (one, hash(one), repr(one)) == (made(9, 7), hash(made(9, 7)), "Made(g0f0=9, g1f0=7)")
    for name in ("g0f0", "g1f0", "other"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(one, name, 3)


def test_what_inherits_from_it_and_can_be_changed_is_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(_class(["default"], lambda cls: cls, Point))


def test_a_class_below_that_is_no_dataclass_may_change_what_is_its_own() -> None:
    class Named(Point):
        def __init__(self, name: str) -> None:
            super().__init__(1)
            self.name = name

    one = Named("a")
    one.name = "b"
    assert one.name == "b"
    del one.name
    assert not hasattr(one, "name")
    with pytest.raises(FrozenInstanceError, match="x"):
        one.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="x"):
        del one.x


@given(st.booleans(), st.booleans())
def test_it_says_of_itself_how_it_was_made(eq: bool, shown: bool) -> None:
    body = {"__annotations__": {"x": "int"}, "__module__": __name__, "__doc__": "One."}
    ours: Any = frozen(eq=eq, repr=shown)(type("Made", (), body))
    standard: Any = dataclasses.dataclass(frozen=True, eq=eq, repr=shown)(type("Made", (), body))
    assert repr(ours.__dataclass_params__) == repr(standard.__dataclass_params__)


def test_without_eq_an_instance_equals_itself_alone() -> None:
    @frozen(eq=False, repr=False)
    class Thing:
        name: str

    one = Thing("a")
    assert one == one  # noqa: PLR0124
    assert one != Thing("a")
    assert "Thing object" in repr(one)
    assert len({one, Thing("a")}) == 2


def test_what_a_class_writes_itself_stays() -> None:
    @frozen
    class Thing:  # noqa: PLW1641 - the decorator gives it a hash
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Thing) and self.name.lower() == other.name.lower()

    assert repr(Thing("a")) == "<a>"
    assert Thing("a") == Thing("A")
    assert isinstance(hash(Thing("a")), int)  # as the standard one has it


def test_what_comes_after_the_fields_is_called_and_may_refuse() -> None:
    @frozen
    class Share:
        value: float

        def __post_init__(self) -> None:
            if self.value > 1:
                raise ValueError(f"{self.value} is more than all")

    assert Share(0.5).value == 0.5
    with pytest.raises(ValueError, match="more than all"):
        Share(2.0)


def test_an_instance_of_another_class_is_not_equal_even_with_the_same_fields() -> None:
    @frozen
    class Other:
        x: int
        y: int = 2

    others: list[object] = [Other(1), (1, 2, []), None]
    assert all(Point(1) != other for other in others)


def test_a_value_made_for_each_instance_is_not_shared() -> None:
    assert Point(1).seen is not Point(1).seen
    assert str(inspect.signature(Point)) == "(x: 'int', y: 'int' = 2, seen: 'list[int]' = <factory>) -> None"


def test_the_types_of_its_arguments_can_be_asked_for() -> None:
    assert get_type_hints(Point.__init__) == {"x": int, "y": int, "seen": list[int], "return": type(None)}


def test_one_that_holds_itself_can_be_shown() -> None:
    one = Point(1)
    one.seen.append(one)  # type: ignore[arg-type]
    assert repr(one) == "Point(x=1, y=2, seen=[...])"


def test_it_is_copied_and_sent_to_another_process_whole() -> None:
    one = Point(1, 3, [4])
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))
    assert copy.copy(one).seen is one.seen


def test_a_field_without_a_default_behind_one_with_is_refused_as_the_standard_decorator_refuses_it() -> None:
    with pytest.raises(TypeError) as standard:

        @dataclasses.dataclass(frozen=True)
        class _Standard:
            first: int = 1
            second: int  # type: ignore[misc]

    with pytest.raises(TypeError) as ours:

        @frozen
        class _Ours:
            first: int = 1
            second: int  # type: ignore[misc]

    assert str(ours.value).split(" argument")[0] == str(standard.value).split(" argument")[0]
    assert "'second' follows default argument" in str(ours.value)


def test_classes_of_as_many_fields_have_names_and_errors_of_their_own() -> None:
    @frozen
    class _One:
        left: int
        right: int = 2

    @frozen
    class _Other:
        upper: int
        lower: int

    assert (_One(1).right, _Other(upper=3, lower=4).lower) == (2, 4)
    with pytest.raises(TypeError, match=r"_Other.__init__\(\) missing 1 required positional argument: 'lower'"):
        _Other(3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"_One.__init__\(\) got an unexpected keyword argument 'upper'"):
        _One(upper=3)  # type: ignore[call-arg]


@frozen(slots=True)
class Slotted:
    """One that can be pickled."""

    x: int
    y: float = 2.0
    z: list[int] = field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class _AsUsual:
    x: int
    y: float = 2.0
    z: list[int] = field(default_factory=list)


def test_slots_are_the_standard_decorators() -> None:
    one, usual = Slotted(1), _AsUsual(1)
    assert Slotted.__slots__ == _AsUsual.__slots__
    assert not hasattr(one, "__dict__")
    assert repr(one) == repr(usual).replace("_AsUsual", "Slotted")
    assert one == Slotted(1, 2.0, []) != Slotted(1, 3.0)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == replace(one) == one
    assert Slotted.__match_args__ == _AsUsual.__match_args__
    for name in ("x", "other"):
        for thing in (one, usual):
            with pytest.raises((FrozenInstanceError, TypeError)):
                setattr(thing, name, 3)
