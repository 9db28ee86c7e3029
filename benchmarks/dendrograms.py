"""A walk over dendrograms, compiled, against the same lines as plain Python.

A graph of cora's size with random links, of which a tenth is private, and one in which all are. Seconds are those of a million steps;
plain Python takes fewer steps and is scaled up. It runs in a process of its own, in which nothing is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.result import Result, Sizes
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import dendrogram

USERS, LINKS, SEED = 2_708, 5_278, 0
SHARES, TILT = (0.1, 1.0), 0.02
MILLION, PLAIN_STEPS = 1_000_000, 4_000
TARGET = 0.05


def run(sizes: Sizes) -> list[Result]:
    """Seconds of a million steps, as a ratio to plain Python."""
    users = min(USERS, max(sizes.users // 4, 50)) if sizes.epochs < 500 else USERS
    results = []
    for share in SHARES:
        seconds(users, share, 10)
        best = min(seconds(users, share, MILLION // 4) for _ in range(min(sizes.repetitions, 3))) * 4
        plain = _plain_seconds(users, share)
        case = f"{users:,} users, {share:.0%} of links private: a million steps"
        results.append(Result("dendrograms", case, "plain Python", "s", best, plain, TARGET))
    return results


def seconds(users: int, share: float, steps: int) -> float:
    """What so many steps take, after a quarter as many as there are users, squared, on the way from a random dendrogram."""
    links = LINKS * users // USERS
    random = np.random.default_rng(SEED)
    codes = np.unique(random.choice(users * (users - 1) // 2, links, replace=False))
    larger = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) // 2).astype(np.int64)
    pairs = np.stack([larger, codes - larger * (larger - 1) // 2], axis=1)
    private = random.random(len(pairs)) < share
    who = np.zeros(users, dtype=np.bool_)
    who[pairs[private]] = True
    known = np.where(who[pairs].all(axis=1), dendrogram.KNOWN, dendrogram.PUBLIC)
    kinds = np.where(private, dendrogram.PRIVATE, known).astype(np.int8)
    graph, random_bits = dendrogram.links_of(users, pairs, kinds), SeededBits(SEED)
    tree = dendrogram.random_tree(users, who, random_bits.take(users))
    dendrogram.count_links(tree, graph)
    drawn = random_bits.take(dendrogram.WORDS_A_STEP * steps)
    start = time.perf_counter()
    dendrogram.walk(tree, graph, drawn, TILT)
    return time.perf_counter() - start


def _plain_seconds(users: int, share: float) -> float:
    code = (
        "import warnings; warnings.simplefilter('ignore'); from benchmarks.dendrograms import seconds; "
        f"print(seconds({users}, {share}, {PLAIN_STEPS}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    return float(done.stdout) * MILLION / PLAIN_STEPS
