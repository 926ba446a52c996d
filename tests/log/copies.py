"""The files of a small life, and whether its copy is read: shared by the tests of what is verified."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure

FIRST, MIDDLE, LAST = (f"worker-default/{name}/data-log.tsv" for name in ("0-test", "1-train", "4-test"))


def recalled(life: Path) -> bool:
    """Whether reading takes the copy: the parser of the text is not asked."""
    from perdure.log.formats import l2logger

    def refuse(*_: object) -> None:
        raise AssertionError("read from the text")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(l2logger, "pieces", refuse)
        try:
            perdure.read(life)
        except AssertionError:
            return False
    return True
