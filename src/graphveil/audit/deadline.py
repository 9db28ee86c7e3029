"""The time that a step of an audit may take.

Steps ask for it before every call of a mechanism (`check_time`, in `findings.reports_of`). A call that does not come back is
interrupted by a timer where there is one: in the main thread, on systems with SIGALRM, if nobody else uses it.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType


class OutOfTimeError(BaseException):
    """The time of a step is over. Not an Exception: no mechanism under audit can catch it by accident."""


class Deadline:
    """A moment that must not be passed, by a monotonic clock.

    >>> seconds = iter([0.0, 4.0, 12.0])
    >>> deadline = Deadline(10.0, lambda: next(seconds))
    >>> deadline.left, deadline.left
    (6.0, 0.0)
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, 0 where none are."""
        return max(0.0, self._end - self._clock())

    def part(self, share: float) -> Deadline:
        """An earlier deadline: this share of what is left."""
        return Deadline(self.left * share, self._clock)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def time_left() -> float:
    """Seconds that are left to the step that is running; infinite where nothing holds it to a deadline."""
    deadline = _current.get()
    return math.inf if deadline is None else deadline.left


def check_time() -> None:
    """Raise OutOfTimeError if the time of the step that is running is over."""
    if time_left() <= 0:
        raise OutOfTimeError


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """Hold what runs meanwhile to a deadline."""
    token = _current.set(deadline)
    watched = math.isfinite(deadline.left) and _can_watch()
    if watched:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, max(deadline.left, 1e-3))
    try:
        yield
    finally:
        if watched:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _current.reset(token)


def _can_watch() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError
