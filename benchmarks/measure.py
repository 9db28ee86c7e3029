"""How time and memory are measured.

Time is the processor time of this process (user and system). All that is measured runs on one thread and waits for
nothing, so that on an idle machine it is what a clock on the wall shows, and on a busy one it is not disturbed by
waiting for a turn.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[], object]
BYTES_A_MEGABYTE = 1e6


@dataclass(frozen=True)
class Timings:
    """Seconds of several calls, measured in turn: the same place of two tuples was measured side by side."""

    seconds: Mapping[str, tuple[float, ...]]

    def best(self, name: str) -> float:
        """The fastest repetition, which the other work of the machine has disturbed least."""
        return min(self.seconds[name])

    def median_ratio(self, name: str, reference: str) -> float:
        """The median, over the repetitions, of the ratio of two calls measured side by side."""
        pairs = zip(self.seconds[name], self.seconds[reference], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def interleaved(calls: Mapping[str, Call], repetitions: int) -> Timings:
    """Time all calls one after the other, again and again, so that a busy spell hits them alike.

    A first round, which fills caches and builds tables, is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for repetition in range(repetitions + 1):
        for name, call in calls.items():
            taken = seconds_of(call)
            if repetition:
                seconds[name].append(taken)
    return Timings({name: tuple(taken) for name, taken in seconds.items()})


def seconds_of(call: Call) -> float:
    """Processor time of one call; what it returns is freed after the clock has stopped."""
    gc.collect()
    start = time.process_time()
    kept = call()
    taken = time.process_time() - start
    del kept
    return taken


def peak_megabytes(call: Call) -> float:
    """The most that one call holds at a time beyond what was there before, its result included, in megabytes.

    Counted by tracemalloc, to which numpy reports every array. Tracing slows a call down: it is never timed as well.
    """
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = call()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return (peak - before) / BYTES_A_MEGABYTE


def forget_peak() -> None:
    """Let the peak of the resident set start again from what is resident; systems without this keep the old one."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
