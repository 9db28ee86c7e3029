"""Memory of a process that learns a part: what is no longer used goes back to the system at once."""

from __future__ import annotations

import ctypes
import sys

# glibc's numbers of the settings (malloc.h): from how many bytes on a block is asked of the system, and given back, by itself; and how much of
# what is free is kept for smaller ones, such as sums that travel, for which a page at a time would else be asked again in each round.
M_MMAP_THRESHOLD, LARGE = -3, 4 << 20
M_TRIM_THRESHOLD, KEPT = -1, 16 << 20


def give_back_at_once() -> None:
    """Let every large block be the system's again as soon as it is free, for the rest of this process.

    Left to itself, glibc keeps blocks below 32 MB: a matrix of half a million rows of 16 columns is just smaller, that of a million larger, so
    that each of two workers would hold nearly as much as one. pyarrow keeps what it has read, unless it takes memory as others do.
    """
    if sys.platform == "linux":
        # Without effect where the C library is another one.
        choose = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
        choose(M_MMAP_THRESHOLD, LARGE)
        choose(M_TRIM_THRESHOLD, KEPT)
    try:
        import pyarrow
    except ImportError:
        return
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
