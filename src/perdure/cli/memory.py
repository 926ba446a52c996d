"""How a command asks the C library for memory: a little from the system at a time is what takes long, not its use."""

from __future__ import annotations

import ctypes
from contextlib import suppress

__all__ = ["hold_memory"]

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # as glibc's malloc.h numbers them
_MADV_HUGEPAGE = 14  # as Linux numbers it
_HUGE_PAGE = 2 << 20
_HELD = 64 << 20


def hold_memory() -> None:
    """Let freed memory stay with the process, up to a bound, and have the system give it in large pages.

    Reading makes and drops arrays of the same sizes over and over; to get them from the system each time takes a
    quarter of that. Threads share it: what one has dropped, another takes. Where the C library is not glibc, all stays
    as it is.
    """
    with suppress(OSError, AttributeError, TypeError):  # Windows knows no library without a name
        library = ctypes.CDLL(None)
        for what, value in {_MMAP_THRESHOLD: _HELD // 2, _TRIM_THRESHOLD: _HELD, _ARENA_MAX: 1}.items():
            library.mallopt(what, value)
        _take_large_pages(library)


def _take_large_pages(library: ctypes.CDLL) -> None:
    """Let the heap grow by one long stretch, of which nothing is there before it is used, in pages of 2 MB.

    On a virtual machine the first use of a page takes longer than all that is then done with its 4 kB; with large
    ones, a score of a million experiences has half as many first uses.
    """
    library.sbrk.restype = library.malloc.restype = ctypes.c_void_p
    library.sbrk.argtypes, library.malloc.argtypes = [ctypes.c_ssize_t], [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.mallopt(_TOP_PAD, _HELD)
    start = -(-library.sbrk(0) // _HUGE_PAGE) * _HUGE_PAGE
    library.free(library.malloc(_HUGE_PAGE))  # more than is left of the heap, so that it grows
    end = library.sbrk(0)
    if end > start:
        library.madvise(start, end - start, _MADV_HUGEPAGE)
