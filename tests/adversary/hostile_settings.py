"""Build every mechanism with hostile settings, and print one line for whatever is neither served nor refused in time.

It runs as a process of its own, in which memory is limited: `test_limits` starts it. With the word brief it leaves out what takes
a minute together, many levels of a personal mechanism: tests/slow has them.
"""

import json
import math
import resource
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from graphveil import GraphveilError
from graphveil.channels.kary import KaryChannel
from graphveil.mechanisms import mechanism, names

# What a process may take besides what it has after its imports, and how long one mechanism may be built (processor time).
MEMORY, SECONDS = 1 << 30, 8.0
# What a mechanism is built with where an option is not the one that is tried.
USUAL = {"dims": 6, "range": (0, 1), "classes": 5, "levels": 4, "length": 2, "radius": 1.0}
NEEDED = {"label": ("classes",), "level": ("levels",), "links": ("dims",), "features": ("dims", "range")}
GRIDS = (
    "laplace", "gaussian", "analytic-gaussian", "piecewise", "square-wave", "hds", "hybrid", "pm-sub", "condensed",
    "ppm", "ppm-printed",
)  # fmt: skip
NUMBERS = [
    0, -1, 2, 63, 513, 2049, 4096, 10**6, 2**31, 2**63, 10**12, 10**18, 10**400, 0.5, 1e-320, 1e300, math.nan, math.inf,
    -math.inf, True, np.int64(3), np.float32(0.1), np.uint64(2**63),
]  # fmt: skip
OTHERS = [
    "", "x", "9" * 10_000, b"x", [], [1], [0, 1], [1.0, 2.0], [math.nan] * 6, [1e308] * 6, [-1] * 6, ["a"] * 6, {}, {"a": 1},
    [[1, 2], [3]], [[0, 1]] * 6, list(range(6)), list(range(1, 65)), list(range(2000)), [1 + k / 3000 for k in range(2000)],
    [2.2 * k + 1 for k in range(64)], [1.0] * 3000, [[[[[[1]]]]]], np.zeros((2, 2)), np.array(3), np.arange(1000),
    (10**400, 1), (0, math.inf), (1, 0), (0, 5e-324), (-1e308, 1e308), object(), "laplace", "piecewise", None,
]  # fmt: skip
OPTIONS = (
    "dims", "range", "sampled", "delta", "binary", "pool", "from_pool", "points", "bits", "raw", "shares", "bins", "debiased",
    "length", "radius", "levels", "budgets", "gamma", "inner", "classes", "unheard_of",
)  # fmt: skip


@cache
def usual(name: str) -> dict:
    """Settings with which the mechanism can be built."""
    extra = {"item": ("length",), "privunit": ("radius",)}.get(name, ())
    subject = next(subject for subject in NEEDED if name in names(subject))
    return {"epsilon": 1.0, **{key: USUAL[key] for key in (*NEEDED[subject], *extra)}}


def combinations(name: str, brief: bool):
    """Settings that are hostile together."""
    for option in ("pool", "shares", "budgets", "range"):
        yield {**usual(name), option: [1.0] * 10**6}
        yield {**usual(name), option: [1] * (3 * 10**6)}
    wide = {**usual(name), "dims": 10**6}
    if name in GRIDS:
        yield {**usual(name), "dims": 1, "points": 513}
    if name == "featurerr":
        yield {**usual(name), "dims": 4000, "shares": list(range(1, 4001)), "bins": 1024}
        yield {**usual(name), "dims": 10**5, "shares": list(range(1, 10**5 + 1))}
    if name == "multibit":
        yield {**wide, "sampled": 1, "pool": list(range(10**6)), "from_pool": 1.0}
    if name.startswith("ppm") and not brief:
        budgets = [2.2 * (k + 1) for k in range(64)]
        for inner in ("onebit", "laplace", "piecewise", "hybrid", "condensed"):
            yield {**wide, "epsilon": 2.2, "budgets": budgets, "inner": inner}
            yield {**usual(name), "budgets": [1 + k / 100 for k in range(64)], "inner": inner}
        yield {
            **usual(name),
            "budgets": [1 + k / 100 for k in range(64)],
            "inner": "piecewise",
            "points": 513,
        }
    if name == "item":
        yield {**wide, "length": 10**6}


def tried(name: str, settings: dict) -> str | None:
    """What is wrong with how a mechanism was built or refused; None if nothing is."""
    began = time.process_time()
    try:
        built = mechanism(name, **settings)
        if not isinstance(getattr(built, "channel", None), KaryChannel):
            repr(built)
        found = None
    except GraphveilError as error:
        found = None if len(str(error)) < 2000 else "a sentence of more than 2,000 characters"
    except Exception as error:  # noqa: BLE001  whatever else comes is what is looked for
        found = f"{type(error).__name__}: {error}"[:200]
    spent = time.process_time() - began
    return found or (f"{spent:.1f} seconds" if spent > SECONDS else None)


def campaign(name: str, brief: bool = False):
    """All hostile settings of one mechanism."""
    for value in (*NUMBERS, *OTHERS):
        yield {**usual(name), "epsilon": value}
        for option in OPTIONS:
            yield {**usual(name), option: value}
    yield from combinations(name, brief)


def main() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    warnings.simplefilter("error")
    for name in names():
        count = 0
        for settings in campaign(name, brief="brief" in sys.argv):
            count += 1
            found = tried(name, settings)
            if found:
                shown = {
                    key: str(type(value)) + repr(value)[:60]
                    for key, value in settings.items()
                    if key != "range"
                }
                print(json.dumps({"name": name, "settings": shown, "found": found}), flush=True)
        print(json.dumps({"name": name, "tried": count}), flush=True)


if __name__ == "__main__":
    main()
