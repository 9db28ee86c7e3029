"""Links in original numbering, brought to the partitions of their users: one pass over the links, in bounded memory.

Users of a partition keep their order, so each partition's links arrive sorted by user and are appended to a file of its own. The
neighbours of one user are sorted anew, since they have new numbers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.scale.edges import GROUP, Adjacency, Targets
from graphveil.scale.manifest import SCATTERING
from graphveil.scale.partitioners import Layout


@dataclass(frozen=True, eq=False)
class Scattered:
    """Files of neighbours as shard numbers, one a partition, and how many entries of each partition are cut."""

    folder: Path
    cut: NDArray[np.int64]

    def partition(self, partition: int, pointers: NDArray[np.int64]) -> Adjacency:
        """The links of a partition, whose users have these row pointers."""
        return Adjacency(pointers, _file(self.folder, partition))


@contextmanager
def distribute(folder: Path, layout: Layout, adjacency: Adjacency, most: int = GROUP) -> Iterator[Scattered]:
    """Scatter all links within a folder, ``most`` at a time; the files are gone afterwards."""
    scratch = folder / SCATTERING
    scratch.mkdir()
    try:
        cut = np.zeros(layout.partitions, dtype=np.int64)
        for partition in range(layout.partitions):
            _file(scratch, partition).touch()
        for begin, end, targets in adjacency.blocks(most):
            degrees = np.diff(adjacency.indptr[begin : end + 1])
            _scatter(scratch, layout, begin, degrees, targets, cut)
        yield Scattered(scratch, cut)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scatter(
    scratch: Path,
    layout: Layout,
    begin: int,
    degrees: NDArray[np.int64],
    targets: Targets,
    cut: NDArray[np.int64],
) -> None:
    """Append the links of users ``begin``, ``begin + 1``, … to the files of their partitions."""
    sources = np.repeat(layout.number[begin : begin + len(degrees)].astype(np.int64), degrees)
    # One number for both ends: sorted, it is by user and then by neighbour, and users of a partition stand together.
    codes = np.sort((sources << 32) | layout.number[targets])
    found = (codes & 0xFFFFFFFF).astype(np.int32)
    bounds = np.searchsorted(codes, layout.first << 32)
    for partition in np.flatnonzero(np.diff(bounds)):
        own = found[bounds[partition] : bounds[partition + 1]]
        inside = (own >= layout.first[partition]) & (own < layout.first[partition + 1])
        cut[partition] += len(own) - int(inside.sum())
        with open(_file(scratch, int(partition)), "ab") as file:
            own.tofile(file)


def _file(scratch: Path, partition: int) -> Path:
    return scratch / f"part-{partition:04d}"
