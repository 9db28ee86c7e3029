"""Checks of public numbers: a valid one is returned as a plain int or float, any other is an error.

An error names what was wrong, what was expected, and what was got. It shows the value: a number that only a user may know
must never be checked here. What a client holds is clipped and not refused.
"""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError

# The largest integer that numpy can hold, and that an error writes out.
MAX_NUMBER = (1 << 63) - 1


def short(value: Any) -> str:
    """Return a value as errors show it: a long list or number is cut in the middle.

    >>> short(list(range(1000)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    # Python refuses to write out integers of more than some thousand digits.
    if isinstance(value, int) and not -MAX_NUMBER <= value <= MAX_NUMBER:
        return f"an integer of {value.bit_length()} bits"
    return reprlib.repr(value)


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer. True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float, NaN included. True and False are not."""
    return is_whole(value) or isinstance(value, (float, np.floating))


def check_whole(
    value: Any, name: str, *, least: int | None = None, most: int | None = None, why: str = ""
) -> int:
    """Return an integer within bounds, or raise an error that says which integers are allowed.

    Parameters
    ----------
    name
        The name of the value in the error.
    least, most
        Inclusive bounds.
    why
        The reason for a bound, for the error.
    >>> check_whole(4, "levels", least=2, most=64)
    4
    """
    low, high = (-math.inf if least is None else least), (math.inf if most is None else most)
    if not is_whole(value) or not low <= value <= high:
        raise _refusal(value, name, "an integer" + _whole_bounds(least, most), why)
    return int(value)


def check_number(
    value: Any,
    name: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    infinite: bool = False,
    why: str = "",
) -> float:
    """Return a number within bounds as a float, or raise an error that says which numbers are allowed.

    Parameters
    ----------
    name
        The name of the value in the error.
    least, most
        Inclusive bounds.
    above, below
        Exclusive bounds.
    infinite
        Whether infinity is allowed.
    why
        The reason for a bound, for the error.
    >>> check_number(0.5, "gamma", above=0, below=1)
    0.5
    """
    converted = _as_float(value)
    bounds = ((operator.ge, least), (operator.gt, above), (operator.le, most), (operator.lt, below))
    fits = all(bound is None or holds(converted, bound) for holds, bound in bounds)
    if not fits or math.isnan(converted) or not (infinite or math.isfinite(converted)):
        raise _refusal(value, name, _numbers_between(least, above, most, below, infinite), why)
    return converted


def check_shares(values: Any, name: str, count: int, why: str = "") -> NDArray[np.float64]:
    """Return non-negative numbers divided by their sum, or raise an error if they are not such numbers.

    Parameters
    ----------
    values
        Numbers of at least 0, not all 0, (count,).
    name
        The name of the values in the error.
    why
        The reason for the count, for the error.
    >>> check_shares([1, 3], "shares", 2).tolist()
    [0.25, 0.75]
    """
    refusal = _refusal(values, name, f"{count} numbers of at least 0 that are not all 0", why)
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    if weights.shape != (count,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise refusal
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 0 < total < math.inf:
        raise refusal
    normalised: NDArray[np.float64] = weights / total
    return normalised


def check_array(value: Any, name: str, expected: str, kinds: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of one of these kinds and shapes, or raise an error that shows none of its values.

    Parameters
    ----------
    value
        An array, or what becomes one.
    name, expected
        What the error calls it, and what it must be, in words.
    kinds
        The letters by which numpy knows the types that can be taken: "iu" for integers.
    shapes
        The shapes that can be taken; any without them.

    >>> check_array([1, 2], "levels", "2 integers", "iu", (2,)).tolist()
    [1, 2]
    """
    array = np.asarray(value)
    if array.dtype.kind not in kinds or (shapes and array.shape not in shapes):
        raise InputError(f"{name} must be {expected}, got {array.dtype} of shape {array.shape}")
    return array


def _refusal(value: Any, name: str, expected: str, why: str) -> InputError:
    return InputError(f"{name} must be {expected}{f', {why}' if why else ''}, got {short(value)}")


def _as_float(value: Any) -> float:
    """Return a number as a float: NaN if it is not a number, infinity if it is too large for a float."""
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _whole_bounds(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return "" if most is None else f" of at most {most}"


def _numbers_between(
    least: float | None, above: float | None, most: float | None, below: float | None, infinite: bool
) -> str:
    """Return the allowed numbers in words."""
    if least is not None and most is not None:
        return f"a number from {least:g} to {most:g}"
    if above is not None and below is not None:
        return f"a number strictly between {above:g} and {below:g}"
    if least is not None and below is not None:
        return f"a number in [{least:g}, {below:g})"
    if above is not None and most is not None:
        return f"a number above {above:g} and up to {most:g}"
    kind = "number" if infinite else "finite number"
    if above == 0:
        return f"a positive {kind}"
    bounds = {"of at least": least, "above": above, "of at most": most, "below": below}
    parts = [f" {words} {bound:g}" for words, bound in bounds.items() if bound is not None]
    return f"a {kind}" + "".join(parts)
