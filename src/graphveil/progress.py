"""Progress of long computations, for any caller that listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with what is being done and which share of it is done.
Listener = Callable[[str, float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Call the listener whenever a computation inside the block reports its progress.

    >>> with listening(lambda what, share: print(what, share)):
    ...     report_progress("walking", 0.5)
    walking 0.5
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(what: str, share: float) -> None:
    """Report how far a computation is, if anybody listens; never anything that private data decide."""
    listener = _listener.get()
    if listener is not None:
        listener(what, share)
