"""Limits of what a plan may ask of a client, checked before anything is allocated.

A plan comes over the network, and its author may want a client to run out of memory or time. A plan within these limits takes a
client at most `MAX_MEMORY` bytes and a few seconds to build, verify and answer, and its report has at most `MAX_REPORT` bytes.
Limits of one family's table stand beside the family: `graphveil.channels.build.MAX_POINTS`,
`graphveil.channels.square_wave.MAX_LEVELS`, `graphveil.channels.graded.MAX_BINS`, `graphveil.channels.kary.MAX_SYMBOLS`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphveil.checks import MAX_NUMBER, check_number, check_whole, short
from graphveil.errors import InputError

# What one plan makes a client hold at most, in bytes: tests measure the heaviest ones.
MAX_MEMORY = 256 << 20
# Features of a row: the largest public graphs have some 10^4, bags of words some 10^5. Some arrays have an entry for each. People
# whose links a device is asked for are as many at most: it gets a digest of each, and may have to name half of them.
MAX_DIMS = 1 << 20
# The report of one user: a code and the place that it is about for each value or person, of 4 bytes each, and what stands around them.
MAX_REPORT = 8 * MAX_DIMS + 1024
# Users whom a plan names one by one.
MAX_NAMED_USERS = 1 << 24
# Privacy levels that a user chooses from: every pair of them is verified.
MAX_LEVELS = 64
# Pairs of levels times the numbers of values that somebody may answer: each is a case of its own.
MAX_LEVEL_CASES = 1 << 17
# Values that a user is asked for, unless all are: they are drawn one after the other.
MAX_SAMPLED = 1 << 14
# Different tables in one mechanism, each of which is built and verified by itself, ...
MAX_TABLES = 4096
# ... and all their entries together.
MAX_ENTRIES = 1 << 21
# Numbers in all lists of a mechanism's settings together: a share or a place in the pool for each of MAX_DIMS values.
MAX_LISTED = 2 * MAX_DIMS
# Integers in a model that a plan sends to every client.
MAX_MODEL = MAX_LISTED
# Lists within lists in a setting, and characters of a word.
MAX_DEPTH, MAX_WORD = 4, 256
# Settings that say yes or no.
FLAGS = ("binary", "raw", "debiased")
# Settings that are one number.
NUMBERS = (
    *(
        "dims",
        "sampled",
        "delta",
        "from_pool",
        "points",
        "bits",
        "bins",
        "length",
        "radius",
        "levels",
        "gamma",
    ),
    *("classes", "inputs", "hash_seed", "centre"),
)


def check_settings(settings: dict[str, Any]) -> None:
    """Refuse settings that are too long or too large to be checked, and flags that are not booleans."""
    listed = 0
    for key, value in settings.items():
        if key in FLAGS and value is not None and not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{key} must be True or False, got {short(value)}")
        if key in NUMBERS and isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)):
            raise InputError(f"{key} must be a number, got {short(value)}")
        sized = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)
        if key == "range" and sized and len(value) != 2:
            raise InputError(f"--range must be two numbers (LOW, HIGH), got {short(value)}")
        listed += _size(key, value, 0)
        if listed > MAX_LISTED:
            raise InputError(f"settings may list at most {MAX_LISTED} numbers in all: {key} has too many")


def _size(key: str, value: Any, depth: int) -> int:
    """Return the number of entries of a setting; refuse entries that are too long or too large."""
    if depth > MAX_DEPTH:
        raise InputError(f"{key} must not hold lists more than {MAX_DEPTH} deep")
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return len(value) + sum(_size(key, inner, depth + 1) for inner in (*value, *value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        # Lists of numbers, the only ones that are long, are looked at all at once.
        if len(value) > MAX_LISTED:
            return len(value)
        kinds = set(map(type, value))
        if kinds <= {int, float}:
            if int in kinds:
                whole = value if float not in kinds else [number for number in value if type(number) is int]
                _check_entry(key, max(whole, key=abs))
            return len(value)
        return sum(_size(key, inner, depth + 1) for inner in value)
    _check_entry(key, value)
    return 1


def _check_entry(key: str, value: Any) -> None:
    if isinstance(value, int) and not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise InputError(f"{key} must be an integer of at most 63 bits, got {short(value)}")
    if isinstance(value, (str, bytes)) and len(value) > MAX_WORD:
        raise InputError(f"{key} must be a word of at most {MAX_WORD} characters, got {len(value)} of them")


def check_tables(name: str, tables: int, inputs: int, outputs: int, advice: str) -> None:
    """Refuse more tables, or larger ones, than can be built and verified while somebody waits.

    Parameters
    ----------
    name
        The mechanism's name, for the error message.
    tables
        The number of different tables.
    inputs, outputs
        The size of each table.
    advice
        The end of the error message: what to do instead.
    """
    if tables > MAX_TABLES:
        raise InputError(f"{name} may have at most {MAX_TABLES} different tables, got {tables}: {advice}")
    if tables * inputs * outputs > MAX_ENTRIES:
        raise InputError(f"{name} would have {tables} tables of {inputs} x {outputs} entries: {advice}")


def check_budget(epsilon: Any, delta: Any = None, name: str = "--epsilon") -> None:
    """Refuse an ε that is not positive and finite, and a δ outside [0, 1).

    Parameters
    ----------
    epsilon, delta
        The budget; a δ of None is not checked.
    name
        The name of ε in error messages.
    """
    check_number(epsilon, name, above=0)
    if delta is not None:
        check_number(delta, "--delta", least=0, below=1)


def check_dims(dims: Any, sampled: Any = None, what: str = "features", most: int = MAX_DIMS) -> None:
    """Refuse a number of dimensions that is below 1 or larger than a client can hold, and an m outside 1..d.

    Parameters
    ----------
    dims
        d, the number of dimensions.
    sampled
        m; None is not checked.
    what
        The noun for dimensions in error messages.
    most
        The largest d that is allowed.
    """
    check_whole(dims, "--dims", least=1)
    if dims > most:
        raise InputError(f"--dims must be at most {most} {what}, got {short(dims)}: ask about fewer")
    if sampled is not None:
        check_whole(sampled, "sampled", least=1, most=int(dims), why="the number of dimensions")


def check_two_points(points: Any) -> None:
    """Refuse a number of input points other than two for binary values: it would have no effect."""
    if points not in (None, 2):
        raise InputError(
            f"binary values have two input points, so points = {short(points)} has no effect: leave it out, or say "
            "binary=False (on the command line --set mechanism.binary=false)"
        )


def sampled_count(epsilon: float, dims: int, rate: float | None) -> int:
    """Return m = max(1, min(d, ⌊ε·rate⌋)), the number of values to ask; all d without a rate.

    Parameters
    ----------
    epsilon
        The budget of a row.
    dims
        d, the number of values in a row.
    rate
        The number of values per unit of ε; None asks for all.
    """
    # A product that rounding has put just below an integer counts as that integer: 7·2.18 asks for 7, not 6.
    return dims if rate is None else max(1, min(dims, math.floor(epsilon * rate * (1 + 2.0**-40))))
