"""last_words: what a worker that is gone had written last, or where it stood."""

from __future__ import annotations

import os
import re
from pathlib import Path

from perdure import files

__all__ = ["last_words"]

_TAIL = 1 << 16
_STACK = re.compile(
    r"(Current thread|Thread) [^\n]*most recent call first\):\n\s+File \"([^\"\n]+)\", line (\d+) in (\S+)"
)


def last_words(*outputs: Path) -> str:
    """A phrase about what the first of these files that says anything says at its end; "" where none does."""
    for file in outputs:
        said = _tail(file).strip()
        if not said:
            continue
        stacks = _STACK.findall(said)
        if stacks:  # Python's own account of a crash, or of a hang: the thread that is to blame, else the main one
            _, name, line, function = next((one for one in stacks if one[0].startswith("C")), stacks[-1])
            return f"; it was at {Path(name).name}:{line}, in {function}"
        return f"; its last output: {said.splitlines()[-1][:500]}"
    return ""


def _tail(file: Path) -> str:
    try:
        with files.opened(file) as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - _TAIL))
            return (opened.read(_TAIL) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
