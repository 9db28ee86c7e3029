"""A process that is the command's own: how it begins and ends. Nothing here needs more than Python."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

from graphveil.interrupts import is_command

# Libraries make a million objects that stay: with Python's own thresholds (700, 10, 10) a quarter of the start looks through them for garbage.
COLLECTIONS = (100_000, 20, 50)


def begin() -> None:
    """Look for garbage rarely."""
    gc.set_threshold(*COLLECTIONS)


def end(code: object) -> None:
    """End the process with an exit status, without taking its libraries apart object by object, which takes torch half a second.

    What was to happen at the end happens. In another program, where a thread is still at work, something cannot be written, or the
    status is no number, nothing is done: Python ends by itself then.
    """
    others = [each for each in threading.enumerate() if each is not threading.current_thread()]
    alone = is_command(sys.orig_argv) and all(each.daemon for each in others)
    if not alone or not isinstance(code, int):
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):
        return
    os._exit(code)
