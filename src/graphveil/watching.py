"""Long computations tell how far they are, whoever has started them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Told what is being done and which share of it is done.
Listener = Callable[[str, float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Whoever listens hears what computations within tell.

    >>> with listening(lambda what, share: print(what, share)):
    ...     tell("walking", 0.5)
    walking 0.5
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(what: str, share: float) -> None:
    """Say how far a computation is, if anybody listens; never anything that private data decide."""
    listener = _listener.get()
    if listener is not None:
        listener(what, share)
