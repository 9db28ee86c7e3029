"""Findings of an audit's steps: how they are shown, how an exact ε is printed, and the time that a step may take."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from fractions import Fraction
from types import FrameType
from typing import Any, Self

import numpy as np

from graphveil.errors import GraphveilError
from graphveil.number_format import ExactText, rounded_up


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


def check_time() -> None:
    """Raise OutOfTimeError if the time of the step that is running is over."""
    deadline = _current.get()
    if deadline is not None and deadline.left <= 0:
        raise OutOfTimeError


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """Hold what runs meanwhile to a deadline."""
    token = _current.set(deadline)
    watched = (
        math.isfinite(deadline.left)
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError


# e to the power of this still is a float.
MAX_EXPONENT = 700.0
# All comparisons of a step that needs no second look raise a false alarm with at most this probability.
FALSE_ALARM = 1e-8
# Looks of a step at most, at all sizes together: the rate is divided by them.
LOOKS = 10_000


def log_false_alarm(comparisons: int, looks: int = LOOKS) -> float:
    """Return how unlikely one of so many comparisons of a look must be to count, as a logarithm."""
    return math.log(FALSE_ALARM / (looks * max(comparisons, 1)))


class Title(StrEnum):
    """The steps of an audit, as they are called, in their order."""

    TABLES = "exact epsilon of the tables"
    CLOSED_FORM = "epsilon by a closed form"
    JOINT = "whole reports, enumerated"
    GRAPHS = "one link in whole graphs, enumerated"
    BEHAVIOUR = "behaviour seen from outside"
    CONTROL = "the control is blind"
    PROCESSES = "client and server apart"
    CLASSES = "the class that a public model gives"
    SAMPLER = "the sampler draws the tables"
    ANSWERS = "every answer at full size"
    USERS = "many users in one call"
    VERSIONS = "other paths, sizes and options"
    BOUND = "a lower bound of epsilon from reports alone"


class Rank(IntEnum):
    """The rank of a finding: the lower, the nearer to the root of a fault, and the earlier it is shown."""

    CLAIM = 0  # the tables or the enumerated reports are above the claim
    STATE = 1  # a call changes the mechanism, or its randomness is not the words'
    USERS = 2  # users' reports depend on each other's data or noise
    CLEAR = 3  # a value is sent as it is
    CHOICE = 4  # what is answered depends on the values
    ANSWER = 5  # an answer is not drawn as its table says
    TOGETHER = 6  # answers of one report depend on each other
    PATH = 7  # the same values answer differently by another path
    VALUE = 8  # some values are not answered
    FORMAT = 9  # length, type and size
    BOUND = 10  # what reports prove, whatever the reason
    CONTROL = 11  # what is measured against carries something, or a second process fails


class Leak(str):
    """A finding in a sentence, with its rank."""

    rank: Rank

    def __new__(cls, sentence: str, rank: Rank) -> Self:
        leak = super().__new__(cls, sentence)
        leak.rank = rank
        return leak


def rank_of(leak: str) -> Rank:
    """Return the rank of a finding; of a plain sentence the one for formats."""
    return leak.rank if isinstance(leak, Leak) else Rank.FORMAT


class BrokenError(GraphveilError):
    """The audited mechanism failed where no mechanism may; the message is the finding."""

    rank = Rank.FORMAT

    @property
    def leak(self) -> Leak:
        """The finding."""
        return Leak(str(self), self.rank)


class LeakError(BrokenError):
    """A check has found what should not be; the message is the finding."""

    def __init__(self, sentence: str, rank: Rank) -> None:
        super().__init__(sentence)
        self.rank = rank


def leaks_of(
    check: Callable[..., list[str] | None], *given: Any, kind: type[BrokenError] = LeakError
) -> list[str]:
    """Return what a check finds: what it raises, or all that it returns; with ``BrokenError`` also that the mechanism fails in it."""
    try:
        return check(*given) or []
    except kind as error:
        return [error.leak]


def raise_first(leaks: Sequence[str]) -> None:
    """Raise the first of some findings, if there is one."""
    if leaks:
        raise LeakError(leaks[0], rank_of(leaks[0]))


def check_alike(seen: Mapping[str, Any], sentence: str, rank: Rank) -> None:
    """Raise a finding unless the same was seen with all kinds of private data.

    Parameters
    ----------
    seen
        What was seen, by what the data are called.
    sentence
        Says what depends on the values.
    rank
        The rank of the finding.

    >>> check_alike({"zeros": 3, "ones": 4}, "the length depends on the values", Rank.FORMAT)
    Traceback (most recent call last):
        ...
    graphveil.audit.findings.LeakError: the length depends on the values: it differs between zeros and ones (3 and 4)
    """
    titles = list(seen)
    for title in titles[1:]:
        first, other = seen[titles[0]], seen[title]
        if first != other:
            values = f" ({first} and {other})" if isinstance(first, int) else ""
            raise LeakError(f"{sentence}: it differs between {titles[0]} and {title}{values}", rank)


@dataclass(frozen=True)
class Step:
    """One step of an audit: what was looked at, what was seen, and what should not have been seen.

    A step that was ``skipped`` says why. One that ``failed`` on the way has seen only that: its leaks are told where no
    other step has found the reason. One that is ``unfinished`` ran out of time. ``covers`` says at which sizes it looked, and
    ``gaps`` what it could not look at.
    """

    title: str
    seen: str
    leaks: tuple[str, ...] = ()
    skipped: bool = False
    failed: bool = False
    unfinished: bool = False
    covers: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def show(private: Any) -> str:
    """One user's private input, short enough for a sentence.

    >>> show(np.zeros(20)), show(np.array([0.0, 0.5])), show(3)
    ('20 times 0', '[0, 0.5]', '3')
    """
    values = np.asarray(private)
    if values.ndim == 0:
        return f"{values[()]:g}"
    if values.size > 4 and (values == values[0]).all():
        return f"{values.size} times {values[0]:g}"
    listed = ", ".join(f"{value:g}" for value in values[:8])
    return f"[{listed}{', …' if values.size > 8 else ''}]"


def power(epsilon: float) -> str:
    """e^ε with its value, rounded up.

    >>> power(1.0)
    'e^1 = 2.71829'
    """
    if not epsilon < MAX_EXPONENT:
        return f"e^{rounded_up(epsilon, 9)}"
    return f"e^{rounded_up(epsilon, 9)} = {rounded_up(math.exp(epsilon), 6)}"


# Tables aim at ε(1 - 2^-40), and a rounding may add as much again.
NEAR = Fraction(1, 2**39)
ROUNDED = "exact, rounded up"


def exact_epsilon(exact: float, claim: float) -> ExactText:
    """An exact ε, rounded up to its claim where it is at most that and at most 2^-39 of it below; else in digits.

    >>> exact_epsilon(0.9999999999990905, 1.0), exact_epsilon(0.9999999999990905, 1.0).digits
    ('1 (exact, rounded up)', '0.999999999999091')
    >>> exact_epsilon(0.99, 1.0), exact_epsilon(1.0000000000000002, 1.0)
    ('0.99', '1.00000000000001')
    """
    digits = rounded_up(exact)
    return ExactText(f"{plain(claim)} ({ROUNDED})" if meets(exact, claim) else digits, digits)


def exact_words(exact: float, claim: float) -> str:
    """The same within a sentence.

    >>> exact_words(0.9999999999990905, 1.0), exact_words(0.99, 1.0)
    ('1, rounded up', '0.99')
    """
    return f"{plain(claim)}, rounded up" if meets(exact, claim) else rounded_up(exact)


def meets(exact: float, claim: float) -> bool:
    """Return whether an exact ε may be shown as its claim: at most that, and as near as tables are built."""
    if not 0 < exact <= claim < float("inf"):
        return False
    return Fraction(claim) - Fraction(exact) <= NEAR * Fraction(claim)


def plain(claim: float) -> str:
    """A claim with all of its digits and no more.

    >>> plain(1.0), plain(0.5), plain(0.12345678)
    ('1', '0.5', '0.12345678')
    """
    short = f"{claim:g}"
    return short if float(short) == claim else repr(claim)
