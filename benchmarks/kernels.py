"""Kernels: a sparse adjacency times a narrow dense matrix, torch's CSR product (ours) and numba's loop against scipy's."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from scipy.sparse import csr_array

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from benchmarks.whole import _data
from graphveil.linear import gcn_matrix

COLUMNS = (4, 16, 64)


@numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
def numba_product(indptr: Any, indices: Any, values: Any, dense: Any, out: Any) -> None:
    """out = A·dense, row by row."""
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            out[row, column] = 0
        for place in range(indptr[row], indptr[row + 1]):
            value, other = values[place], indices[place]
            for column in range(out.shape[1]):
                out[row, column] += value * dense[other, column]


def run(sizes: Sizes) -> list[Result]:
    """Seconds a product."""
    torch.set_num_threads(1)
    source, graph, _ = _data(sizes.users, sizes.dimensions)
    ours = gcn_matrix(graph)
    tensor = ours._forward
    parts = [each.numpy() for each in (tensor.crow_indices(), tensor.col_indices(), tensor.values())]
    theirs = csr_array((parts[2], parts[1], parts[0]), shape=ours.shape)
    results = []
    for columns in COLUMNS:
        dense = torch.randn(graph.node_count, columns)
        rows, out = dense.numpy(), np.empty((graph.node_count, columns), dtype=np.float32)
        calls: dict[str, Call] = {
            "scipy": lambda rows=rows: theirs @ rows,
            "torch": lambda dense=dense: ours.multiply(dense),
            "numba": lambda rows=rows, out=out: numba_product(*parts, rows, out),
        }
        timings = interleaved(calls, sizes.repetitions)
        results += [
            Result(
                "kernels",
                f"{name}, {columns} columns, {source}",
                "scipy's CSR product",
                "s",
                timings.best(name),
                timings.best("scipy"),
                None,
                timings.median_ratio(name, "scipy"),
            )
            for name in ("torch", "numba")
        ]
    return results
