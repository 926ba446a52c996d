"""The letters of an SVG are in it."""

from __future__ import annotations

import base64
import re
import struct
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.reports.draw.fonts import font_faces
from perdure.reports.draw.svg.paper import Figure, text

LATIN = st.text(st.sampled_from("abcXYZ019−×±…ρα<&>\"' äéß"), min_size=1, max_size=30)


def covered(faces: str, weight: int) -> set[str]:
    rules = re.findall(rf"font-weight:{weight};unicode-range:([^;]*);", faces)
    return {chr(int(one.removeprefix("U+"), 16)) for rule in rules for one in rule.split(",")}


@settings(deadline=None, max_examples=25)
@given(LATIN, LATIN)
def test_every_letter_of_a_figure_is_embedded_in_its_weight(plain: str, bold: str) -> None:
    faces = font_faces(text(0, 9, plain, 9) + text(0, 19, bold, 9, "strong"))
    assert set(plain) - {" "} <= covered(faces, 400)
    assert set(bold) - {" "} <= covered(faces, 700)


def test_nothing_is_embedded_where_there_are_no_words() -> None:
    assert font_faces("<path d='M0 0'/>") == ""
    assert font_faces(text(0, 9, "abc", 9)) == font_faces(text(0, 9, "abc", 9))


def test_the_embedded_font_is_truetype_with_sound_checksums() -> None:
    (packed,) = re.findall(r'base64,([^"]+)', font_faces(text(0, 9, "forward transfer 1.5", 9)))
    font = base64.b64decode(packed)
    assert font[:4] == b"\0\1\0\0"
    assert (
        sum(struct.unpack(f">{len(font) // 4}I", font)) & 0xFFFFFFFF == 0xB1B0AFBA
    )  # as the OpenType specification has it
    tags = {font[12 + 16 * at : 16 + 16 * at] for at in range(struct.unpack_from(">H", font, 4)[0])}
    assert {b"cmap", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"name", b"OS/2", b"post"} <= tags


def test_a_browser_takes_the_embedded_fonts(browser: Any, tmp_path: Path) -> None:
    figure = Figure(200, 40, text(0, 9, "forward transfer −1.5", 9) + text(0, 19, "A title", 9, "strong"), "words")
    renamed = font_faces(figure.body).replace("Liberation Sans", "Embedded")
    (tmp_path / "figure.svg").write_text(figure.svg(renamed + 'text{font-family:"Embedded"}'))
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "figure.svg").as_uri())
    states = "document.fonts.ready.then(() => [...document.fonts].map((one) => `${one.weight} ${one.status}`))"
    assert page.evaluate(states) == ["400 loaded", "700 loaded"]
    assert complaints == []
    page.close()
