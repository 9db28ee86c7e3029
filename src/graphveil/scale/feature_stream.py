"""Features of a file, some users at a time, written to the partitions of their users in one pass over the file.

Users of a partition keep their order, so that rows of the file can be appended to the partition's table as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.divide import check_binary, checked_features
from graphveil.graphs.tables import Columns, writing_table
from graphveil.mechanisms.rows import PublicRange
from graphveil.scale.manifest import simulated_file
from graphveil.scale.npz_stream import NpzStream
from graphveil.scale.partitioners import Layout
from graphveil.scale.simulated_users import held_columns

# Tables that are open at a time; more partitions take more passes.
OPEN = 200


@dataclass(frozen=True, eq=False)
class FeatureStream:
    """Rows of a file: dense (``x``), or sparse, where ``pointers`` say where each row begins."""

    stream: NpzStream
    users: int
    columns: int
    public: PublicRange
    binary: bool
    pointers: NDArray[np.int64] | None = None

    @property
    def bytes_a_row(self) -> int:
        """What a row takes in memory, on average."""
        if self.pointers is None:
            return self.columns * self.stream.facts("x").dtype.itemsize
        entry = sum(self.stream.facts(key).dtype.itemsize for key in ("x_indices", "x_data"))
        return 8 + entry * int(self.pointers[-1]) // max(self.users, 1)

    def blocks(self, step: int) -> Iterator[tuple[int, Any]]:
        """The first user of each block and the rows, an array or a sparse matrix, checked."""
        begin = 0
        for rows in self._dense(step) if self.pointers is None else self._sparse(self.pointers, step):
            checked = checked_features(rows, rows.shape[0])
            if self.binary:
                check_binary(checked, self.public)
            yield begin, checked
            begin += rows.shape[0]

    def _dense(self, step: int) -> Iterator[Any]:
        return self.stream.rows("x", step)

    def _sparse(self, pointers: NDArray[np.int64], step: int) -> Iterator[Any]:
        from scipy.sparse import csr_array

        begins = range(0, self.users, step)
        ends = [min(begin + step, self.users) for begin in begins]
        lengths = [int(pointers[end] - pointers[begin]) for begin, end in zip(begins, ends, strict=True)]
        indices, data = (self.stream.slices(key, iter(lengths)) for key in ("x_indices", "x_data"))
        for begin, end, own, values in zip(begins, ends, indices, data, strict=True):
            try:
                matrix = csr_array(
                    (values, own, pointers[begin : end + 1] - pointers[begin]),
                    shape=(end - begin, self.columns),
                )
                matrix.check_format()
            except (ValueError, TypeError, OverflowError) as error:
                raise InputError(
                    f"{self.stream.path} has sparse features that do not fit together ({error})"
                ) from None
            yield matrix


def write_streamed(
    folder: Path, layout: Layout, features: FeatureStream, labels: NDArray[np.int64], step: int
) -> None:
    """Write what users hold to their partitions, ``step`` users at a time."""
    for first in range(0, layout.partitions, OPEN):
        chosen = range(first, min(first + OPEN, layout.partitions))
        with ExitStack() as stack:
            writers = {
                partition: stack.enter_context(writing_table(simulated_file(folder, partition)))
                for partition in chosen
            }
            for begin, rows in features.blocks(step):
                _append(writers, layout, begin, rows, labels)
            for partition, write in writers.items():
                if layout.first[partition] == layout.first[partition + 1]:
                    write({"label": np.empty(0, dtype=np.int32)})


def _append(
    writers: dict[int, Callable[[Columns], None]],
    layout: Layout,
    begin: int,
    rows: Any,
    labels: NDArray[np.int64],
) -> None:
    numbers = layout.number[begin : begin + rows.shape[0]]
    home = np.searchsorted(layout.first, numbers, side="right") - 1
    order = np.argsort(home, kind="stable")
    found, starts = np.unique(home[order], return_index=True)
    for partition, own in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        if partition in writers:
            writers[partition](held_columns(rows[own], labels[begin + own]))
