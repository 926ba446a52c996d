"""Words in a figure: how wide they are, and how they are made to fit."""

from __future__ import annotations

from textwrap import wrap

__all__ = ["broken", "fitting", "width_of"]

# Advance widths of Helvetica in thousandths of its size (Adobe's font metrics); Arial and Liberation Sans share them.
_WIDTHS = {
    **dict.fromkeys("il", 222),
    **dict.fromkeys("j'", 210),
    **dict.fromkeys(" !,./:;I[\\]ft|", 278),
    **dict.fromkeys("()-r`{}", 333),
    **dict.fromkeys('*^"', 400),
    **dict.fromkeys("Jcksvxyz", 500),
    **dict.fromkeys("+<=>~−×", 584),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("&ABEKPSVXY", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("Mm", 833),
    **dict.fromkeys("%", 889),
    **dict.fromkeys("W…", 944),
    **dict.fromkeys("@—", 1015),
}
_OTHER, _WIDE = 556, 1000
_FIRST_WIDE = "\u2e80"  # from here on come the scripts whose letters are as wide as they are high


def width_of(text: str, size: float) -> float:
    """How wide a text is at a size, a little generously: a page has its reader's own font."""
    return sum(_WIDTHS.get(one, _WIDE if one >= _FIRST_WIDE else _OTHER) for one in text) / 1000 * size * 1.06


def fitting(text: str, size: float, room: float) -> str:
    """A name that fits: its beginning and its end, which is where names differ; nothing where not three letters do."""
    if width_of(text, size) <= room:
        return text
    for most in range(len(text) - 1, 2, -1):
        head = (most - 1) * 2 // 3
        tried = f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
        if width_of(tried, size) <= room:
            return tried
    return ""


def broken(text: str, size: float, room: float, lines: int = 2) -> tuple[str, ...]:
    """Text on one line, or on several; only what fits none of them is shortened."""
    if width_of(text, size) <= room or not text:
        return (text,) if text else ()
    found = wrap(text, max(4, int(len(text) * room / width_of(text, size))), break_on_hyphens=False)
    if len(found) > lines:
        found = [*found[: lines - 1], " ".join(found[lines - 1 :])]
    return tuple(fitting(one, size, room) for one in found)
