"""Run the benchmarks: ``python -m benchmarks [collect] [dendrograms] [draws] [kernels] [links] [parts] [peers] [propagation] [reports] [rounds] [start] [structure] [tables] [training] [veil] [whole] [--json] [--strict] [--quick]``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from benchmarks import (
    collect,
    dendrograms,
    draws,
    kernels,
    links,
    parts,
    peers,
    propagation,
    reports,
    rounds,
    start,
    structure,
    tables,
    training,
    veil,
    whole,
)
from benchmarks.result import QUICK, Result, Sizes, table

BENCHMARKS: dict[str, Callable[[Sizes], list[Result]]] = {
    "collect": collect.run,
    "dendrograms": dendrograms.run,
    "draws": draws.run,
    "kernels": kernels.run,
    "links": links.run,
    "parts": parts.run,
    "peers": peers.run,
    "propagation": propagation.run,
    "reports": reports.run,
    "rounds": rounds.run,
    "start": start.run,
    "structure": structure.run,
    "tables": tables.run,
    "training": training.run,
    "veil": veil.run,
    "whole": whole.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say with ``--strict`` by the exit status whether all targets are met."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark is named {name!r}: choose some of {', '.join(BENCHMARKS)}")
    sizes = QUICK if options.quick else Sizes()
    results: list[Result] = []
    for name in options.names or BENCHMARKS:
        print(f"measuring {name} …", file=sys.stderr)
        results += BENCHMARKS[name](sizes)
    if options.quick:
        # The targets are set for the full sizes.
        results = [replace(result, target=None) for result in results]
    print(_json(results, sizes) if options.json else table(results))
    missed = [result for result in results if result.met is False]
    for result in missed:
        print(f"missed: {result.benchmark}, {result.case}", file=sys.stderr)
    return 1 if options.strict and missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed and memory, as ratios to a reference in the same run."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(BENCHMARKS)}; else all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; no targets")
    return parser


def _json(results: Sequence[Result], sizes: Sizes) -> str:
    setting = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "sizes": asdict(sizes),
    }
    return json.dumps({**setting, "results": [result.fields() for result in results]}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
