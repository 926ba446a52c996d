"""Memory that a command holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perdure.cli.memory import hold_memory

_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


@pytest.mark.parametrize("problem", [OSError, AttributeError, TypeError])
def test_a_system_whose_memory_cannot_be_held_is_left_as_it_is(
    problem: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_library(name: object) -> None:
        assert name is None
        raise problem("not here")  # TypeError is what Windows says of a library without a name

    monkeypatch.setattr("ctypes.CDLL", no_library)
    hold_memory()


@pytest.mark.skipif(not _LARGE_PAGES.exists(), reason="this system has no large pages to give")
def test_the_heap_comes_in_large_pages_and_takes_no_more_than_is_used() -> None:
    code = (
        "from perdure.cli.memory import hold_memory; import resource\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "hold_memory()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "print(open('/proc/self/smaps').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    grown, _, maps = done.stdout.partition("\n")
    flags = [part.partition("VmFlags:")[2].partition("\n")[0] for part in maps.split("[heap]")[1:]]
    assert any(" hg" in one for one in flags)
    assert int(grown) < 4096, "kB; 64 MB are asked for"
