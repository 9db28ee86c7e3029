"""Number formats of tables, figures and sentences: scores, intervals, percentages, budgets, sizes and values.

Scores and shares are 0..1 and printed as points, hundredths of 1. Spent budgets and exact ε are rounded up,
by `rounded_up`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Protocol, Self

# In a cell that has nothing to say.
NONE = "-"
ONE_RUN = "one run"
# No value, as `--set` and TOML files write it.
NO_VALUE = "none"


class Interval(Protocol):
    """A mean with its interval (None for a single run): a `Summary`, or the scores of a record."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""


@dataclass(frozen=True)
class Unit:
    """A number format: the value times ``factor``, at most ``most``, in format ``digits``, then ``mark``."""

    name: str
    factor: float = 1.0
    digits: str = ".3g"
    mark: str = ""
    most: float = math.inf

    def number(self, value: float) -> str:
        """Return a number that is in the unit already, formatted.

        >>> PERCENT.number(81.25), NUMBER.number(0.184), SECONDS.number(21)
        ('81.2', '0.184', '21.0 s')
        """
        return f"{value:{self.digits}}{self.mark}"

    def axis(self, words: str) -> str:
        """Return the label of an axis: the words, and the unit if there is one.

        >>> PERCENT.axis("accuracy"), SECONDS.axis("time"), NUMBER.axis("error")
        ('accuracy (%)', 'time (s)', 'error')
        """
        sign = "%" if self.name == "percent" else self.mark.strip()
        return f"{words} ({sign})" if sign else words

    def with_spread(self, value: float | None, spread: float | None) -> str:
        """Return a number that is in the unit already, with its spread after ±.

        >>> PERCENT.with_spread(81.25, 0.5), SECONDS.with_spread(21, None), PERCENT.with_spread(None, None)
        ('81.2 ± 0.5', '21.0 s', '-')
        """
        if value is None:
            return NONE
        return self.number(value) if spread is None else f"{self.number(value)} ± {self.number(spread)}"

    def interval(self, summary: Interval | None) -> str:
        """Return a mean and its interval, formatted.

        >>> from graphveil.statistics import Summary
        >>> PERCENT.interval(Summary(0.5, 0.45, 0.56)), MEGABYTES.interval(Summary(812.4, None, None)), NUMBER.interval(None)
        ('50.0 [45.0, 56.0]', '812 MB', '-')
        """
        if summary is None:
            return NONE
        mean = f"{self.factor * summary.mean:{self.digits}}"
        if summary.low is None or summary.high is None:
            return mean + self.mark
        low, high = (f"{self.factor * value:{self.digits}}" for value in (summary.low, summary.high))
        return f"{mean} [{low}, {high}]{self.mark}"


PERCENT = Unit("percent", 100.0, ".1f", most=100.0)
NUMBER = Unit("number")
SECONDS = Unit("seconds", digits=".1f", mark=" s")
MEGABYTES = Unit("MB", digits=".0f", mark=" MB")


def points(score: float | None, signed: bool = False) -> str:
    """Return a score, or a difference of scores with its sign, in points.

    >>> points(0.8125), points(0.012, signed=True), points(None)
    ('81.2', '+1.2', '-')
    """
    return NONE if score is None else f"{100 * score:{'+' if signed else ''}.1f}"


def low_to_high(summary: Interval, signed: bool = False) -> str:
    """Return an interval in points without its mean.

    >>> from graphveil.statistics import Summary
    >>> low_to_high(Summary(0.5, 0.45, 0.56)), low_to_high(Summary(0.5, None, None))
    ('45.0 to 56.0', 'one run')
    """
    if summary.low is None or summary.high is None:
        return ONE_RUN
    return f"{points(summary.low, signed)} to {points(summary.high, signed)}"


def reach(summary: Interval) -> str:
    """Return ± and half of an interval in points; an empty text if there is no interval.

    >>> from graphveil.statistics import Summary
    >>> reach(Summary(0.5, 0.45, 0.55)), reach(Summary(0.5, None, None))
    (' ± 5.0', '')
    """
    if summary.low is None or summary.high is None:
        return ""
    return f" ± {points((summary.high - summary.low) / 2)}"


def gained(gain: Interval | None) -> str:
    """Return a gain in points with its sign and half of its interval.

    >>> from graphveil.statistics import Summary
    >>> gained(Summary(0.012, 0.002, 0.022)), gained(Summary(-0.012, None, None)), gained(None)
    ('+1.2 ± 1.0', '-1.2', '-')
    """
    return NONE if gain is None else f"{points(gain.mean, signed=True)}{reach(gain)}"


def percent(share: float, digits: str = ".1f") -> str:
    """Return a share in percent, with the percent sign.

    >>> percent(0.125), percent(0.125, "+.1f"), percent(0.0012, ".2g")
    ('12.5%', '+12.5%', '0.12%')
    """
    return f"{100 * share:{digits}}%"


def rounded(value: float | None, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits.

    >>> rounded(0.12345), rounded(0.12345, 2), rounded(None)
    ('0.123', '0.12', '-')
    """
    return NONE if value is None else f"{value:.{digits}g}"


def rounded_or_whole(value: float) -> str:
    """Return a number with three significant digits, or all digits of a large number.

    >>> rounded_or_whole(0.01234), rounded_or_whole(2341.5)
    ('0.0123', '2,342')
    """
    return f"{value:,.0f}" if 1000 <= value < 1e9 else rounded(value)


def budget(epsilon: float | None) -> str:
    """Return a budget as it was given.

    >>> budget(0.5), budget(4.0), budget(None)
    ('ε = 0.5', 'ε = 4', 'no ε')
    """
    return "no ε" if epsilon is None else f"ε = {epsilon:g}"


def counted(number: int, what: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "run"), counted(2500, "run")
    ('1 run', '2,500 runs')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def file_size(count: int) -> str:
    """Return a number of bytes in a suitable unit.

    >>> [file_size(count) for count in (900, 65_000, 4_000_000)]
    ['900 bytes', '65 kB', '4.0 MB']
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def value_text(value: Any, between: str = ", ") -> str:
    """Return a value of a field or setting in few characters, or several of them joined.

    >>> [value_text(value) for value in (0.01, 1.0, 4, True, None, "sage", [1, 2.5])]
    ['0.01', '1', '4', 'true', 'none', 'sage', '1, 2.5']
    """
    if isinstance(value, (list, tuple)):
        return between.join(value_text(part, between) for part in value)
    if value is None or isinstance(value, bool):
        return NO_VALUE if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def exact_text(value: Any, between: str = ",") -> str:
    """Return a value as `--set` takes it, or several with commas between them, without rounding.

    >>> [exact_text(value) for value in (4.0, 1e-4, 0.12345678, True, None, "selu", (1.0, 2.5))]
    ['4', '0.0001', '0.12345678', 'true', 'none', 'selu', '1,2.5']
    """
    if isinstance(value, (list, tuple)):
        return between.join(exact_text(part, between) for part in value)
    short = value_text(value)
    return repr(value) if isinstance(value, float) and float(short) != value else short


def rounded_up(value: float, digits: int = 15) -> str:
    """Return a number rounded up to significant digits, so that a printed exact ε is never too small.

    >>> rounded_up(0.12345, 3), rounded_up(2.0), rounded_up(math.inf)
    ('0.124', '2', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    number = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{float(number):.{digits}g}"


class ExactText(str):
    """An exact ε as it is shown, with all its digits at hand."""

    digits: str

    def __new__(cls, shown: str, digits: str) -> Self:
        text = super().__new__(cls, shown)
        text.digits = digits
        return text
