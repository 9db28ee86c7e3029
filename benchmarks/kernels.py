"""Kernels: a sparse adjacency times a narrow dense matrix, our compiled product, scipy's and a plain loop of numba against torch's."""

from __future__ import annotations

from typing import Any

import numba
import torch
from scipy.sparse import csr_array

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from benchmarks.whole import _data
from graphveil.linear import Polynomial, gcn_matrix

COLUMNS = (4, 16, 64)
# Over several hops users are in the order of the cache.
HOPS = 16
HOPS_OF_OURS = f"one of {HOPS} hops of ours"


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
    tensor = ours.to_csr()
    parts = [each.numpy() for each in (tensor.crow_indices(), tensor.col_indices(), tensor.values())]
    scipys = csr_array((parts[2], parts[1], parts[0]), shape=ours.shape)
    hops = Polynomial(ours, [0.0] * HOPS + [1.0])
    results = []
    for columns in COLUMNS:
        dense = torch.randn(graph.node_count, columns)
        rows, out = dense.numpy(), torch.empty(graph.node_count, columns)
        calls: dict[str, Call] = {
            "torch": lambda dense=dense, out=out: torch.addmm(out, tensor, dense, beta=0, out=out),
            "ours": lambda dense=dense, out=out: ours.multiply(dense, out),
            "scipy": lambda rows=rows: scipys @ rows,
            "a plain loop of numba": lambda rows=rows, out=out: numba_product(*parts, rows, out.numpy()),
            HOPS_OF_OURS: lambda dense=dense: hops.multiply(dense),
        }
        timings = interleaved(calls, sizes.repetitions)
        for name in list(calls)[1:]:
            products = HOPS if name == HOPS_OF_OURS else 1
            results.append(
                Result(
                    "kernels",
                    f"{name}, {columns} columns, {source}",
                    "torch's CSR product",
                    "s",
                    timings.best(name) / products,
                    timings.best("torch"),
                    1.0 if name in ("ours", HOPS_OF_OURS) else None,
                    timings.median_ratio(name, "torch") / products,
                )
            )
    return results
