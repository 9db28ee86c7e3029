"""Memory that a long-running process no longer uses, given back to the system."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

# Seconds between two times.
EVERY = 60.0


async def give_back_again_and_again(every: float = EVERY) -> None:
    """Give back what is free, once a minute: bodies of all sizes leave holes between what is used, which the C library keeps."""
    trim = trimming()
    while trim is not None:
        await asyncio.sleep(every)
        await run_in_threadpool(trim, 0)


def trimming() -> Callable[[int], int] | None:
    """The C library's own way to give memory back; None where it has none, as only glibc does."""
    if sys.platform != "linux":
        return None
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return trim
