"""Memory of a process that learns a part: what is no longer used goes back to the system at once."""

from __future__ import annotations

import ctypes
import sys

# glibc's number of the setting (malloc.h), and from how many bytes on a block is asked of the system, and given back, by itself.
M_MMAP_THRESHOLD = -3
LARGE = 1 << 20


def give_back_at_once() -> None:
    """Let every large block be the system's again as soon as it is free, for the rest of this process.

    Left to itself, glibc keeps blocks below 32 MB: a matrix of half a million rows of 16 columns is just smaller, that of a million larger, so
    that each of two workers would hold nearly as much as one. pyarrow keeps what it has read, unless it takes memory as others do.
    """
    if sys.platform == "linux":
        # Without effect where the C library is another one.
        getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)(M_MMAP_THRESHOLD, LARGE)
    try:
        import pyarrow
    except ImportError:
        return
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
