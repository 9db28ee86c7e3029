"""A public file of numbers, one for each attribute: how much it matters, or how sensitive it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.files import read_text


def read_attribute_numbers(file: str | Path, count: int, what: str) -> NDArray[np.float64]:
    """The numbers in a file, one a line (a CSV file of one column is such a file): so many, finite and of at least 0.

    ``what`` says in errors what the numbers are. The file is public, and so is what an error shows of it. Empty lines at the
    end do not count.
    """
    path = Path(file)
    expected = f"{what} is a file of {count} numbers of at least 0, one a line in the order of the attributes"
    lines = read_text(path, expected).rstrip().splitlines()
    numbers = [_number(line, f"{path}, line {place}", expected) for place, line in enumerate(lines, start=1)]
    if len(numbers) != count:
        raise InputError(f"{path} has {len(numbers)} lines: {expected}")
    return np.array(numbers)


def _number(line: str, where: str, expected: str) -> float:
    try:
        number = float(line)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        shown = line.strip()
        raise InputError(f"{where} is {shown[:40]!r}: {expected}")
    return number
