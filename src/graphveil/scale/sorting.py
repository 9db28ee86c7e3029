"""Links in any order, sorted without holding all of them: an external sort.

1. The pairs are written down as 32-bit integers; the largest number tells how many users there are.
2. Both directions are counted for each user, and users divided into ranges that have few enough links.
3. Both directions are scattered over a file for each range.
4. Each file is sorted in memory; repeats are dropped, and the neighbours appended to one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import MAX_NODES
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Adjacency, whole_rows

Pairs = NDArray[np.int32]
# More users than this, and so many for each end of a link, are no users: their numbers are names.
MANY, LONELY = 1_000_000, 100


def sorted_links(
    chunks: Iterable[NDArray[Any]],
    users: int | None,
    scratch: Path,
    most: int,
    *,
    least: int = 0,
    named: str = "edges",
    instead: str = "number them anew",
) -> Adjacency:
    """Both directions of all pairs, sorted, without self-loops or repeats, in a file within ``scratch``.

    At most about ``most`` entries are in memory at a time. ``users`` says how many there are, where it is known;
    else there are as many as the pairs name, and at least ``least``. ``named`` is what an error calls the pairs, and ``instead`` what to do.
    """
    spool = scratch / "pairs"
    count = max(_spool(chunks, spool, users, named, instead), least)
    if users is None:
        _check_named(spool, count, least, named, instead)
    degrees = np.zeros(count, dtype=np.int64)
    for pairs in _spooled(spool, most):
        for side in (0, 1):
            degrees += np.bincount(pairs[:, side], minlength=count)
    ends = np.array([end for _, end in whole_rows(row_pointers(degrees), most)], dtype=np.int64)
    for pairs in _spooled(spool, most):
        _scatter(pairs, ends, scratch)
    spool.unlink()
    return _joined(scratch, ends, count)


def _spool(chunks: Iterable[NDArray[Any]], spool: Path, users: int | None, named: str, instead: str) -> int:
    """Write all pairs down; how many users there are."""
    largest = -1
    with open(spool, "wb") as file:
        for pairs in chunks:
            if not pairs.size:
                continue
            low, high = int(pairs.min()), int(pairs.max())
            if low < 0 or high >= (MAX_NODES if users is None else users):
                allowed = f"0..{users - 1}" if users is not None else f"from 0 to {MAX_NODES - 1}"
                raise InputError(
                    f"{named} must name users by numbers {allowed}, got {low}..{high}: {instead}"
                )
            largest = max(largest, high)
            np.ascontiguousarray(pairs, dtype=np.int32).tofile(file)
    return largest + 1 if users is None else users


def _check_named(spool: Path, count: int, least: int, named: str, instead: str) -> None:
    """Refuse numbers that are so large that they must be names: every number below them would be a user, and take memory."""
    ends = spool.stat().st_size // np.dtype(np.int32).itemsize
    if count > max(MANY, LONELY * ends, least):
        raise InputError(
            f"{named} has {ends // 2} links, and a user of the number {count - 1}, so that nearly all of {count} users would have none: "
            f"{instead}"
        )


def _spooled(spool: Path, most: int) -> Iterator[Pairs]:
    """The pairs that were written down, without self-loops, so many at a time that both directions are ``most`` entries."""
    step = max(1, most // 2)
    with open(spool, "rb") as file:
        while (pairs := np.fromfile(file, np.int32, 2 * step).reshape(-1, 2)).size:
            yield pairs[pairs[:, 0] != pairs[:, 1]]


def _scatter(pairs: Pairs, ends: NDArray[np.int64], scratch: Path) -> None:
    """Append both directions of these pairs to the files of their users' ranges."""
    first, second = (pairs[:, side].astype(np.int64) for side in (0, 1))
    codes = np.concatenate([(first << 32) | second, (second << 32) | first])
    codes.sort()
    bounds = np.searchsorted(codes, ends << 32)
    begin = 0
    for place, end in enumerate(bounds):
        if end > begin:
            with open(_range(scratch, place), "ab") as file:
                codes[begin:end].tofile(file)
        begin = int(end)


def _joined(scratch: Path, ends: NDArray[np.int64], users: int) -> Adjacency:
    """Sort the files one after the other."""
    degrees = np.zeros(users, dtype=np.int64)
    links = scratch / "links"
    begin = 0
    with open(links, "wb") as file:
        for place, end in enumerate(ends):
            part = _range(scratch, place)
            if part.exists():
                codes = np.fromfile(part, np.int64)
                part.unlink()
                codes.sort()
                codes = codes[np.diff(codes, prepend=-1) != 0]
                (codes & 0xFFFFFFFF).astype(np.int32).tofile(file)
                degrees[begin:end] = np.bincount((codes >> 32) - begin, minlength=int(end) - begin)
            begin = int(end)
    return Adjacency(row_pointers(degrees), links)


def _range(scratch: Path, place: int) -> Path:
    return scratch / f"range-{place:06d}"
