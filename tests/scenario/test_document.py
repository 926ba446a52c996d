"""Decoding of JSON: dangerous input is refused, and the place of a problem is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ScenarioError
from perdure.scenario.document import (
    LARGEST_BYTES,
    MOST_LEVELS,
    DuplicateKeys,
    decode,
    is_finite,
    place_text,
    read_source,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab[{\\"', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab$"', max_size=3), inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["instructions", "name", "x"]), values, max_size=3)


@given(objects, st.sampled_from([None, 1, 4]))
def test_decoding_gives_the_result_of_json(value: dict[str, object], indent: int | None) -> None:
    assert decode(json.dumps(value, indent=indent)) == value


@given(st.text(max_size=40))
def test_any_text_is_decoded_or_refused_as_by_json(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(ScenarioError, match="not JSON"):
            decode(text)
    else:
        if isinstance(value, dict):
            assert decode(text).keys() == value.keys()
        else:
            with pytest.raises(ScenarioError, match="not an object"):
                decode(text)


def test_places_are_written_as_paths_into_the_document() -> None:
    assert place_text(("instructions", 3, "$repeat", 1)) == "instructions[3].$repeat[1]"
    assert place_text(("tasks", "odd name\ud800")) == 'tasks["odd name\\ud800"]'


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{"instructions": [}', 1, 19),
        ('{"instructions":\n [1,\n  }', 3, 3),
        ('{"instructions": [1 2]}', 1, 21),
        ('{"a" 1}', 1, 6),
        ('{"a": 1} x', 1, 10),
        ("{a: 1}", 1, 2),
        ('{"a": tru}', 1, 7),
        ('{"a": "unterminated}', 1, 7),
    ],
)
def test_text_that_is_not_json_is_refused_with_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(ScenarioError, match=rf":{line}: not JSON: .*, column {column};"):
        decode(text)


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null"])
def test_json_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="not an object"):
        decode(text)


@pytest.mark.parametrize("levels", [101, 10_000, 300_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"$repeat": ', "}")])
def test_deep_nesting_is_refused_before_parsing(levels: int, opening: str, closing: str) -> None:
    text = '{"instructions": ' + opening * levels + "1" + closing * levels + "}"
    with pytest.raises(ScenarioError, match=f"more than {MOST_LEVELS} levels"):
        decode(text)
    with pytest.raises(ScenarioError, match=r"levels|not JSON"):
        decode('{"instructions": ' + opening * levels)


def test_nesting_up_to_the_limit_is_read() -> None:
    inner: object = 1
    for _ in range(MOST_LEVELS - 1):
        inner = [inner]
    assert decode(json.dumps({"x": inner})) == {"x": inner}


def test_brackets_inside_strings_do_not_nest() -> None:
    assert decode(json.dumps({"x": "[" * 5000 + '\\"{' * 50}))["x"].startswith("[[")


@pytest.mark.parametrize("text", ['{"a": "' + "[" * 500, "[" * 50 + '"' + "\\", '{"a": "' + '\\"[' * 20_000])
def test_an_unterminated_string_is_refused_quickly(text: str) -> None:
    with pytest.raises(ScenarioError):
        decode(text)


def test_a_key_that_occurs_twice_is_remembered() -> None:
    value = decode('{"instructions": [{"a": 1, "b": 2, "a": 3}]}')["instructions"][0]
    assert isinstance(value, DuplicateKeys)
    assert value.duplicates == ("a",)
    assert value == {"a": 3, "b": 2}


def test_a_number_of_ten_thousand_digits_is_refused() -> None:
    with pytest.raises(ScenarioError, match="digits"):
        decode('{"count": ' + "9" * 10_000 + "}")


def test_a_huge_file_is_refused_without_being_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as handle:
        handle.truncate(200_000_000)
    with pytest.raises(ScenarioError, match="200 MB, more than"):
        read_source(file)
    with pytest.raises(ScenarioError, match="more than"):
        decode("{" + " " * LARGEST_BYTES)


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbf{}", "x") == {}


def test_bytes_that_are_not_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(ScenarioError, match="byte 1 is 0xff"):
        decode(b"{\xff}", "x")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere\.json: cannot be read"):
        read_source(tmp_path / "nowhere.json")


def test_infinite_numbers_are_found_at_any_depth() -> None:
    assert is_finite({"a": [1, {"b": 2.5}], "c": "x", "d": None})
    assert not is_finite({"a": [1, {"b": float("inf")}]})
