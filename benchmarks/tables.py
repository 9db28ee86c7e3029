"""Tables: what the first code of a channel costs, when nothing is cached yet. For information, without a target.

The table is built, verified exactly and packed for drawing, and one code is drawn. The reference is the drawing of
raw seeded words of the benchmark `draws`, so a ratio says how many data sets of that size a table costs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.draws import in_blocks, philox_words
from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from graphveil import channels
from graphveil.channels import FiniteChannel, SeededBits
from graphveil.channels.channel import verified

EPSILONS = (0.01, 1.0, 6.0)
DELTA = 1e-5
REFERENCE = "Philox words"


@dataclass(frozen=True)
class Family:
    """A constructor, its settings besides ε, and the largest ε that it takes."""

    build: Callable[..., FiniteChannel]
    settings: dict[str, Any] = field(default_factory=dict)
    largest: float = max(EPSILONS)

    def first_code(self, epsilon: float) -> FiniteChannel:
        """Build the channel without the cache of the process, and draw once."""
        channel = verified(inspect.unwrap(self.build)(epsilon, **self.settings))
        channel.respond(np.zeros(1, dtype=np.int64), SeededBits(0))
        return channel


FAMILIES = {
    "one-bit": Family(channels.onebit),
    "laplace": Family(channels.laplace),
    # The classical bound covers no larger ε.
    "gaussian": Family(channels.gaussian, {"delta": DELTA}, largest=1.0),
    "analytic gaussian": Family(channels.analytic_gaussian, {"delta": DELTA}),
    "piecewise": Family(channels.piecewise),
    "pm-sub": Family(channels.pm_sub),
    "square wave": Family(channels.square_wave),
    "hybrid": Family(channels.hybrid),
    "three-output": Family(channels.three_output),
    "featurerr": Family(channels.featurerr),
    "condensed": Family(channels.condensed),
    "7-ary": Family(channels.kary, {"size": 7}),
    "esw": Family(channels.esw, {"levels": 4}),
    "latent": Family(channels.latent),
    "ome": Family(channels.ome),
}


def run(sizes: Sizes) -> list[Result]:
    """Every family at every ε that it takes."""
    take = philox_words()
    calls: dict[str, Call] = {REFERENCE: lambda: in_blocks(take, sizes.draws)}
    cases: dict[str, str] = {}
    for name, family in FAMILIES.items():
        for epsilon in EPSILONS:
            if epsilon <= family.largest:
                channel = family.first_code(epsilon)
                case = f"{name}, ε = {epsilon:g}"
                cases[case] = f"{case} ({channel.input_count} x {channel.output_count})"
                calls[case] = lambda family=family, epsilon=epsilon: family.first_code(epsilon)  # type: ignore[misc]
    timings = interleaved(calls, min(sizes.repetitions, 3))
    return [
        Result("tables", label, REFERENCE, "s", timings.best(case), timings.best(REFERENCE))
        for case, label in cases.items()
    ]
