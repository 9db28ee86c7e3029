"""Ctrl-C: every long command says what was kept and how to go on, and exits with status 130."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from graphveil.cli.console import say

INTERRUPTED = 130
# Of commands that keep nothing before they are done.
ANEW = "nothing was written, and the same command begins anew"
# Of commands whose runs are kept one by one.
GOES_ON = "every finished run is kept, and the same command goes on from there"


def interrupted(sentence: str) -> typer.Exit:
    """Say what was kept; what is returned ends the command when it is raised."""
    say(f"Interrupted: {sentence}.", err=True)
    return typer.Exit(INTERRUPTED)


@contextmanager
def saying(sentence: str = ANEW) -> Iterator[None]:
    """An interrupt within ends the command with a sentence.

    >>> with saying():
    ...     1 + 1
    2
    """
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted(sentence) from None


def going_on(fresh: bool) -> str:
    """How to go on after some runs were kept; a command that computes all anew would do so again."""
    return "without --fresh the same command goes on" if fresh else "the same command goes on"
