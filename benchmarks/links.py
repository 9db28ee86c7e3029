"""BLINK from lists to a private graph, against the same with dense matrices in numpy.

The reference is written here from the publication (Zhu, Tan and Xiao 2023): both ends answer every pair, an n x n matrix of bits;
the β-model has a parameter a user and each of its fixed-point steps an n x n matrix; the posterior is one too, and the hybrid
variant takes its Σp largest entries. Ours is what a run does by default: one end answers, in lists, users are grouped by degree, and
only reported pairs get a posterior. A graph of cora's size with random links; E is what one link costs.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.result import Result, Sizes
from graphveil.channels.sampling import SeededBits
from graphveil.denoise import private_graph
from graphveil.graphs import symmetric_csr
from graphveil.mechanisms import NeighbourLists, mechanism

USERS, LINKS, SHARE, SEED = 2_708, 5_278, 0.1, 0
EPSILONS = (4.0, 10.0)
# As published, the β-model is iterated until it moves by less than this, or so often.
ITERATIONS, CLOSE = 200, 1e-3
TIME_TARGET = 0.1


def run(sizes: Sizes) -> list[Result]:
    """Seconds and peak memory of arrays, as ratios to dense matrices."""
    users = min(USERS, max(sizes.users // 4, 50)) if sizes.epochs < 500 else USERS
    links = LINKS * users // USERS
    pairs = np.random.default_rng(SEED).integers(0, users, (links, 2))
    pointers, neighbours = symmetric_csr(pairs, users)
    lists = NeighbourLists(np.arange(users), pointers, neighbours)
    results = []
    for epsilon in EPSILONS:
        ours, theirs = (
            [_measured(partial(call, lists, users, epsilon)) for _ in range(min(sizes.repetitions, 3))]
            for call in (sparse, dense)
        )
        case = f"{users:,} users, E = {epsilon:g}"
        for place, unit, target in ((0, "s", TIME_TARGET), (1, "MB", None)):
            best = [min(each[place] for each in side) for side in (ours, theirs)]
            results.append(Result("links", f"{case}: {unit}", "dense numpy", unit, *best, target))
    return results


def sparse(lists: NeighbourLists, users: int, epsilon: float) -> Any:
    """What a run does with lists of neighbours."""
    built = mechanism("blink", epsilon=epsilon, dims=users, share=SHARE)
    return private_graph(built.randomize(lists, SeededBits(SEED)), "hybrid", SEED)


def dense(lists: NeighbourLists, users: int, epsilon: float) -> Any:
    """The same with a matrix of all pairs at every step."""
    random = np.random.default_rng(SEED)
    linked = np.zeros((users, users), dtype=bool)
    linked[np.repeat(np.arange(users), np.diff(lists.indptr)), lists.neighbours] = True
    for_degrees, for_bits = SHARE * epsilon / 2, (1 - SHARE) * epsilon / 2
    degrees = linked.sum(axis=1) + random.laplace(0, 1 / for_degrees, users)
    flip = 1 / (1 + np.exp(for_bits))
    bits = linked ^ (random.random((users, users)) < flip)
    wanted = np.clip(degrees, 1, users - 2)
    beta = np.log(wanted) - 0.5 * np.log(wanted.sum())
    for _ in range(ITERATIONS):
        shares = 1 / (np.exp(-beta)[None, :] + np.exp(beta)[:, None])
        np.fill_diagonal(shares, 0)
        moved = np.log(wanted) - np.log(shares.sum(axis=1))
        done = np.abs(moved - beta).max() < CLOSE
        beta = 0.5 * (beta + moved)
        if done:
            break
    prior = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    yes = bits.astype(np.float64) + bits.T
    likely = np.exp((2 * yes - 2) * for_bits)
    chances = prior * likely / (prior * likely + 1 - prior)
    np.fill_diagonal(chances, 0)
    upper = np.triu(chances, 1)
    count = round(float(upper.sum()))
    order = np.argsort(upper, axis=None)[::-1][:count]
    return np.stack(np.unravel_index(order, upper.shape), axis=1), upper.ravel()[order]


def _measured(call: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds, and megabytes of arrays at the peak (measured apart, as that slows it down)."""
    start = time.process_time()
    call()
    seconds = time.process_time() - start
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak
