"""Ctrl-C while the command is still being loaded: one line and exit status 130, no traceback.

Nothing here needs more than Python itself. The package is loaded before its command can say anything, so it says it here; in a
program that imports graphveil, an interrupt is that program's own.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

COMMAND, INTERRUPTED = "graphveil", 130


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """End the command with one line if imports are interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_command(sys.orig_argv):
            raise
        print("\nInterrupted: nothing was begun.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def is_command(words: Sequence[str]) -> bool:
    """Return whether Python was started for the command, not for a program that imports the package.

    >>> is_command(["python", "-m", "graphveil", "demo"]), is_command(["python", "bin/graphveil", "demo"])
    (True, True)
    >>> is_command(["python", "mine.py", "-m", "graphveil"]), is_command(["python"])
    (False, False)
    """
    for place, word in enumerate(words[1:], 1):
        if word == "-m":
            return list(words[place + 1 : place + 2]) == [COMMAND]
        if not word.startswith("-"):
            return PurePath(word).stem == COMMAND
    return False
