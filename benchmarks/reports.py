"""Reports: multi-bit for a whole data set, from sparse rows, against the dense way; and how wide a code is.

Time is that of `randomize` alone, on a mechanism that is built; the reference gets its dense matrix for free and stops
at the noisy bits, without decoding them. Memory is what either holds beyond its input, at its peak, by tracemalloc.
"""

from __future__ import annotations

import numpy as np

from benchmarks.dense import dense_multibit
from benchmarks.measure import Call, interleaved, peak_megabytes
from benchmarks.result import Result, Sizes
from benchmarks.rows import sparse_rows
from graphveil.channels import SeededBits
from graphveil.mechanisms import Mechanism, mechanism

# At least 100 times as fast, and a hundredth of the memory.
TIME_TARGET = MEMORY_TARGET = 1 / 100
EPSILON = 1.0
RANGE = (0.0, 1.0)
# As many values as the mechanism's own rule asks for at this ε (None), and ten of them.
SAMPLED = (None, 10)
FLOAT32_BYTES = 4
SEED = 0


def run(sizes: Sizes) -> list[Result]:
    """Time, memory and width."""
    source, rows = sparse_rows(sizes.users, sizes.dimensions)
    dense = rows.toarray()
    results: list[Result] = []
    for sampled in SAMPLED:
        ours = mechanism("multibit", epsilon=EPSILON, dims=sizes.dimensions, range=RANGE, sampled=sampled)
        case = f"multi-bit, m = {ours.shape.length}, {source}"
        results += _compare(case, ours, rows, dense, sizes.repetitions)
    return results + [width(name, rows) for name in ("onebit", "laplace")]


def _compare(case: str, ours: Mechanism, rows: object, dense: np.ndarray, repetitions: int) -> list[Result]:
    words, generator = SeededBits(SEED), np.random.default_rng(SEED)

    def sparse_way() -> object:
        return ours.randomize(rows, words)

    def dense_way() -> object:
        return dense_multibit(dense, ours.shape.length, EPSILON, generator)

    calls: dict[str, Call] = {"dense": dense_way, "sparse": sparse_way}
    timings = interleaved(calls, repetitions)
    median = timings.median_ratio("sparse", "dense")
    time = Result(
        "reports",
        f"{case}: time",
        "dense, float32",
        "s",
        timings.best("sparse"),
        timings.best("dense"),
        TIME_TARGET,
        median,
    )
    memory = Result(
        "reports",
        f"{case}: memory",
        "dense, float32",
        "MB",
        peak_megabytes(sparse_way),
        peak_megabytes(dense_way),
        MEMORY_TARGET,
    )
    return [time, memory]


def width(name: str, rows: object, users: int = 50) -> Result:
    """Bytes that a code of an all-values mechanism takes, dimensions included, against a float32.

    The target is the smallest unsigned integer type that holds its alphabet, and not a byte for naming dimensions.
    """
    some = rows[:users]  # type: ignore[index]
    dimensions = some.shape[1]
    ours = mechanism(name, epsilon=EPSILON, dims=dimensions, range=RANGE)
    reports = ours.randomize(some, SeededBits(SEED))
    named = 0 if reports.dims is None else reports.dims.nbytes
    return Result(
        "reports",
        f"{name}, all {dimensions} values: width",
        "one float32",
        "bytes",
        (reports.codes.nbytes + named) / reports.codes.size,
        FLOAT32_BYTES,
        smallest_width(ours.shape.alphabet) / FLOAT32_BYTES,
    )


def smallest_width(alphabet: int) -> int:
    """Bytes of the smallest unsigned integer that can tell so many codes apart."""
    return next(size for size in (1, 2, 4, 8) if alphabet <= 1 << 8 * size)
