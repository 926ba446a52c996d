"""The letters of an SVG, embedded: the TrueType subset that the same figure's PDF would hold, as `@font-face` rules.

`vl-convert` sets text in PDFs with a font of its own and embeds the glyphs that are used. Such a subset lacks the two
tables that a browser asks for, which characters its glyphs stand for (`cmap`) and how bold it is (`OS/2`); both are
known here. So an SVG needs no font on the machine that shows it, and Perdure brings none.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from html import escape, unescape

__all__ = ["FAMILY", "font_faces"]

FAMILY = "Liberation Sans"
_TEXT = re.compile(r"<text\b([^>]*)>([^<]*)</text>")
_OBJECT = re.compile(rb"(\d+) 0 obj\s")
_LENGTH = re.compile(rb"/Length (\d+)")
_NUMBER = re.compile(rb"<([0-9A-Fa-f]+)>")
_SECTION = re.compile(rb"begin(bfchar|bfrange)(.*?)end", re.DOTALL)

Objects = Mapping[int, tuple[bytes, bytes]]
"""Object number → its dictionary, and its stream unpacked."""


def font_faces(body: str) -> str:
    """Rules for the fonts that the words in this markup need; nothing where there are no words."""
    plain: set[str] = set()
    bold: set[str] = set()
    for given, words in _TEXT.findall(body):
        (bold if "strong" in given else plain).update(unescape(words))
    return "".join(_face(sorted(some - {" "}), weight) for some, weight in ((plain, 400), (bold, 700)) if some - {" "})


def _face(letters: list[str], weight: int) -> str:
    import vl_convert

    drawn = f'<text x="0" y="9" font-family="{FAMILY}" font-weight="{weight}">{escape(" ".join(letters))}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{drawn}</svg>'
    rules = []
    for font, glyphs in _fonts(_objects(bytes(vl_convert.svg_to_pdf(svg)))):
        packed = base64.b64encode(_completed(font, glyphs, weight)).decode()
        covers = ",".join(f"U+{one:X}" for one in sorted(glyphs))
        rules.append(
            f'@font-face{{font-family:"{FAMILY}";font-weight:{weight};unicode-range:{covers};'
            f'src:url("data:font/ttf;base64,{packed}")}}'
        )
    return "".join(rules)


# --- what the PDF holds --------------------------------------------------------------------------


def _objects(pdf: bytes) -> Objects:
    found: dict[int, tuple[bytes, bytes]] = {}
    at = 0
    while match := _OBJECT.search(pdf, at):
        end, begin = pdf.find(b"endobj", match.end()), pdf.find(b"stream", match.end())
        if not 0 <= begin < end:
            found[int(match[1])] = (pdf[match.end() : end], b"")
            at = end
            continue
        head = pdf[match.end() : begin]
        length = _LENGTH.search(head)
        first = begin + len(b"stream") + (2 if pdf[begin + 6 : begin + 8] == b"\r\n" else 1)
        data = pdf[first : first + (int(length[1]) if length else 0)]
        found[int(match[1])] = (head, zlib.decompress(data) if b"/FlateDecode" in head else data)
        at = first + len(data)
    return found


def _fonts(objects: Objects) -> Iterator[tuple[bytes, dict[int, int]]]:
    """Each TrueType font, and character → glyph."""
    for head, _ in objects.values():
        if b"/Type0" not in head:
            continue
        child = _reference(head, b"DescendantFonts")
        about = _reference(objects[child][0], b"FontDescriptor") if child in objects else -1
        file = _reference(objects[about][0], b"FontFile2") if about in objects else -1
        spoken = _reference(head, b"ToUnicode")
        if file in objects and spoken in objects:
            yield objects[file][1], _characters(objects[spoken][1])


def _reference(head: bytes, name: bytes) -> int:
    found = re.search(rb"/" + name + rb"\s*\[?\s*(\d+) 0 R", head)
    return int(found[1]) if found else -1


def _characters(cmap: bytes) -> dict[int, int]:
    found: dict[int, int] = {}
    for kind, body in _SECTION.findall(cmap):
        each, given = (2 if kind == b"bfchar" else 3), _NUMBER.findall(body)
        for at in range(0, len(given) - each + 1, each):
            low, high = int(given[at], 16), int(given[at + each - 2], 16)
            said = bytes.fromhex(given[at + each - 1].decode()).decode("utf-16-be")
            if len(said) == 1:
                found |= {ord(said) + step: low + step for step in range(high - low + 1)}
    return found


# --- what a browser asks for besides -------------------------------------------------------------


def _completed(font: bytes, glyphs: Mapping[int, int], weight: int) -> bytes:
    """The font with its characters and its weight."""
    count = struct.unpack_from(">H", font, 4)[0]
    tables = {}
    for at in range(count):
        tag, _, first, length = struct.unpack_from(">4sIII", font, 12 + 16 * at)
        tables[tag] = font[first : first + length]
    ascent, descent = struct.unpack_from(">hh", tables[b"hhea"], 4)
    tables[b"cmap"] = _cmap(glyphs)
    tables[b"OS/2"] = _os2(glyphs, weight, ascent, descent)
    head = bytearray(tables[b"head"])
    head[8:12] = b"\0\0\0\0"  # the checksum of everything, which is not known yet
    tables[b"head"] = bytes(head)
    return _assembled(tables)


def _cmap(glyphs: Mapping[int, int]) -> bytes:
    groups = b"".join(struct.pack(">III", one, one, glyph) for one, glyph in sorted(glyphs.items()))
    table = struct.pack(">HHIII", 12, 0, 16 + len(groups), 0, len(glyphs)) + groups
    return struct.pack(">HHHHI", 0, 1, 3, 10, 12) + table


def _os2(glyphs: Mapping[int, int], weight: int, ascent: int, descent: int) -> bytes:
    ends = (min(0xFFFF, *glyphs), min(0xFFFF, max(glyphs, default=0)))
    shown = struct.pack(">HhHHH10hh10B4I4s", 4, 0, weight, 5, 0, *[0] * 11, *[0] * 10, *[0] * 4, b"    ")
    bold = 0x20 if weight > 400 else 0x40
    measured = (ascent, descent, 0, max(0, ascent), max(0, -descent))
    return shown + struct.pack(">HHHhhhHHIIhhHHH", bold, *ends, *measured, 0, 0, 0, 0, 0, 32, 1)


def _assembled(tables: Mapping[bytes, bytes]) -> bytes:
    count, power = len(tables), 1
    while power * 2 <= count:
        power *= 2
    parts = [struct.pack(">IHHHH", 0x00010000, count, power * 16, power.bit_length() - 1, (count - power) * 16)]
    first, bodies, at_head = 12 + 16 * count, [], 0
    for tag, body in sorted(tables.items()):
        padded = body + b"\0" * (-len(body) % 4)
        parts.append(struct.pack(">4sIII", tag, _sum(padded), first, len(body)))
        at_head = first if tag == b"head" else at_head
        bodies.append(padded)
        first += len(padded)
    whole = bytearray(b"".join([*parts, *bodies]))
    struct.pack_into(">I", whole, at_head + 8, (0xB1B0AFBA - _sum(bytes(whole))) & 0xFFFFFFFF)
    return bytes(whole)


def _sum(padded: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f">{len(padded) // 4}I", padded)
    return sum(words) & 0xFFFFFFFF
