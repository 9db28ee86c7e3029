"""Propagation: personalized PageRank of sparse reports as LDP-GE uses it, ours against scipy's power iteration.

Both are to bring the largest error, against a solution in double precision, to 1e-4 of the largest entry. The reference does so
with the fewest steps that reach it, which it is told; ours with what it can know before: a guarantee of that size. Both run on
one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array

from benchmarks.measure import Call, forget_peak, interleaved
from benchmarks.result import Result, Sizes
from benchmarks.whole import _data, _peak
from graphveil.channels import SeededBits
from graphveil.denoise import PageRankDenoiser
from graphveil.graphs import Graph, Users
from graphveil.mechanisms import Estimate, mechanism

TIME_TARGET = 0.4
# Of the largest entry of the result.
TOLERANCE = 1e-4
# What `whole` may take beside the dense matrix that it returns.
SPARE_MEGABYTES = 300.0
EPSILON, SAMPLED, ALPHA, R, COLUMNS, SEED = 1.0, 50, 0.05, 0.1, 500, 0
# scipy's product is about as fast for every width from here on to all columns; this one was the fastest.
SCIPY_COLUMNS = 64
# Where push and the series are compared: values a user, α, and r_max in units of the largest |D^-r X|.
SETTINGS = (
    (1, 0.05, 0.001),
    (10, 0.05, 0.01),
    (10, 0.05, 0.001),
    (50, 0.05, 0.1),
    (50, 0.05, 0.01),
    (50, 0.5, 0.01),
    (50, 0.5, 0.001),
)


def run(sizes: Sizes) -> list[Result]:
    """Seconds, errors, where push wins, and memory."""
    torch.set_num_threads(1)
    source, graph, users = _data(sizes.users, sizes.dimensions)
    results = _against_scipy(source, graph, users, sizes.repetitions)
    for sampled, alpha, share in SETTINGS:
        results.append(_push_or_series(source, graph, users, sampled, alpha, share, sizes.repetitions))
    return results + _memory(source, sizes)


def _against_scipy(source: str, graph: Graph, users: Users, repetitions: int) -> list[Result]:
    estimate = some_columns(reported(users, SAMPLED), COLUMNS)
    matrix, rows = propagation(graph), estimate.to_scipy().toarray()
    exact = solution(matrix, rows)
    largest = float(np.abs(exact).max())
    steps = fewest_steps(matrix, rows, exact, TOLERANCE * largest)
    single, rows = matrix.astype(np.float32), rows.astype(np.float32)
    r_max = TOLERANCE * largest / float(max(graph.degrees.max(), 1)) ** R
    ours = PageRankDenoiser(ALPHA, R, r_max)
    calls: dict[str, Call] = {
        "scipy": lambda: [None for _ in power_blocks(single, rows, steps)],
        "ours": lambda: [None for _ in ours.blocks(estimate, graph)],
    }
    timings = interleaved(calls, repetitions)
    plan = ours.plan(estimate, graph)
    hops = plan.hops.get(plan.algorithm, 0)
    case = f"{plan.algorithm}, {hops} hops, {plan.precision}, {rows.shape[1]} columns, {source}"
    reference = f"scipy, {steps} hops"
    best = timings.best("ours"), timings.best("scipy")
    time = Result(
        "propagation", case, reference, "s", *best, TIME_TARGET, timings.median_ratio("ours", "scipy")
    )
    errors = [
        largest_error(blocks, exact) / largest
        for blocks in (ours.blocks(estimate, graph), power_blocks(single, rows, steps))
    ]
    tolerance = "what is allowed"
    return [
        time,
        Result("propagation", "ours: largest error", tolerance, "of the max", errors[0], TOLERANCE, 1.0),
        Result(
            "propagation", f"{reference}: largest error", tolerance, "of the max", errors[1], TOLERANCE, 1.0
        ),
    ]


def _push_or_series(
    source: str, graph: Graph, users: Users, sampled: int, alpha: float, share: float, repetitions: int
) -> Result:
    """Push against the faster series; the case says which of them ``auto`` takes."""
    estimate = some_columns(reported(users, sampled), COLUMNS)
    auto = PageRankDenoiser(alpha, R, share * float(np.abs(estimate.values).max()))
    plan = auto.plan(estimate, graph)
    series = min(plan.hops, key=lambda name: plan.work[name])
    push, other = replace(auto, algorithm="push"), replace(auto, algorithm=series)
    calls: dict[str, Call] = {
        "series": lambda: [None for _ in other.blocks(estimate, graph)],
        "push": lambda: [None for _ in push.blocks(estimate, graph)],
    }
    timings = interleaved(calls, repetitions)
    return Result(
        "propagation",
        f"push, {sampled} values a user, α = {alpha:g}, r_max = {share:g} of the max, {source}: auto takes {plan.algorithm}",
        f"{series}, {plan.hops[series]} hops",
        "s",
        timings.best("push"),
        timings.best("series"),
        None,
        timings.median_ratio("push", "series"),
    )


def _memory(source: str, sizes: Sizes) -> list[Result]:
    dense = sizes.users * sizes.dimensions * 4 / 1e6
    targets = {"whole": 1 + SPARE_MEGABYTES / dense, "blocks": None}
    return [
        Result(
            "propagation",
            f"{way}, all {sizes.dimensions} columns, {source}: memory",
            "dense matrix, float32",
            "MB",
            _measured(way, sizes),
            dense,
            target,
        )
        for way, target in targets.items()
    ]


def _measured(way: str, sizes: Sizes) -> float:
    """What a fresh process took at its peak beyond what was there before."""
    command = [sys.executable, "-m", "benchmarks.propagation", way, str(sizes.users), str(sizes.dimensions)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
    )
    return float(json.loads(done.stdout))


def measure_here(way: str, users_count: int, features: int) -> float:
    """The peak of the resident set beyond what reports and graph take before."""
    torch.set_num_threads(1)
    _, graph, users = _data(users_count, features)
    estimate = reported(users, SAMPLED)
    ours = PageRankDenoiser(ALPHA, R, 1e-3)
    forget_peak()
    before = _peak()
    if way == "whole":
        ours.rows(estimate, graph)
    else:
        for _ in ours.blocks(estimate, graph):
            pass
    return _peak() - before


def reported(users: Users, sampled: int) -> Estimate:
    """Decoded HDS reports of so many values a user."""
    rows = users.raw.features
    dims = rows.shape[1]
    built = mechanism("hds", epsilon=EPSILON, dims=dims, range=(0, 1), sampled=min(sampled, dims))
    return built.randomize(rows, SeededBits(SEED)).estimate()


def some_columns(estimate: Estimate, count: int) -> Estimate:
    """Random columns of an estimate."""
    width = min(count, estimate.shape[1])
    chosen = np.sort(np.random.default_rng(SEED).choice(estimate.shape[1], width, replace=False))
    part = estimate.to_scipy()[:, chosen]
    part.sort_indices()
    shape = (estimate.shape[0], width)
    return Estimate(shape, part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data, 0.0, False)


def propagation(graph: Graph) -> Any:
    """(1-α) D^(r-1) A D^-r in double precision; a user without neighbours has a loop."""
    nodes = graph.node_count
    edges = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(nodes, nodes))
    edges = (edges + diags_array((graph.degrees == 0).astype(np.float64))).tocsr()
    degree = np.maximum(graph.degrees, 1).astype(np.float64)
    return ((1 - ALPHA) * diags_array(degree ** (R - 1)) @ edges @ diags_array(degree**-R)).tocsr()


def power_blocks(matrix: Any, rows: np.ndarray, steps: int) -> Iterator[tuple[int, np.ndarray]]:
    """So many steps of the power iteration, a block of columns at a time."""
    for start in range(0, rows.shape[1], SCIPY_COLUMNS):
        term = rows.dtype.type(ALPHA) * rows[:, start : start + SCIPY_COLUMNS]
        total = term.copy()
        for _ in range(steps):
            term = matrix @ term
            total += term
        yield start, total


def solution(matrix: Any, rows: np.ndarray) -> np.ndarray:
    """The power iteration in double precision, until what is left is below 1e-9 of the start."""
    steps = int(np.ceil(np.log(1e-9) / np.log(1 - ALPHA)))
    return np.concatenate([block for _, block in power_blocks(matrix, rows, steps)], axis=1)


def fewest_steps(matrix: Any, rows: np.ndarray, exact: np.ndarray, allowed: float) -> int:
    """The fewest steps that bring the largest error below what is allowed, in single precision."""
    single, most = matrix.astype(np.float32), 0
    for start in range(0, rows.shape[1], SCIPY_COLUMNS):
        term = np.float32(ALPHA) * rows[:, start : start + SCIPY_COLUMNS].astype(np.float32)
        goal = exact[:, start : start + SCIPY_COLUMNS]
        total, steps = term.copy(), 0
        while np.abs(total - goal).max() > allowed or steps < most:
            term = single @ term
            total += term
            steps += 1
        most = steps
    return most


def largest_error(blocks: Any, exact: np.ndarray) -> float:
    """The largest difference, in double precision."""
    return max(
        float(np.abs(np.asarray(block, dtype=np.float64) - exact[:, start : start + block.shape[1]]).max())
        for start, block in blocks
    )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(measure_here(sys.argv[1], *map(int, sys.argv[2:]))))
