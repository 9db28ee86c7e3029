"""A progress bar for what is done inside one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TimeElapsedColumn

from graphveil.cli.console import Console, Description
from graphveil.cli.interrupts import saying


@contextmanager
def one_bar() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr, and what to tell it: what is being done, and which share of it is done.

    It is for commands that write at the end alone: an interrupt ends them, and says so.
    """
    columns = (Description(), BarColumn(), TimeElapsedColumn())
    with saying(), Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        current = bars.add_task("starting", total=100)
        yield lambda what, share: bars.update(current, description=what, completed=int(100 * share))
