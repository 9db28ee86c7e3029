"""Thirteen commands whose numbers must not change unless somebody means them to: every method, both tasks, private labels and links.

`python -m tests.golden.commands` writes their results anew, which a commit that changes numbers does and says why.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHORT = ["--seed", "3", "--set", "epochs=20", "--json"]
TOWN, CORA = ["--data", "town", "--set", "data.users=800"], ["--data", "cora"]
ONCE, TWICE = ["--runs", "1"], ["--runs", "2"]
# The scale of the input that every method had before it chose one.
FIXED, LDPGE_FIXED = ["--set", "input_share=0.125"], ["--set", "input_share=0.25"]
# A name, what is run, and what data it needs.
COMMANDS: dict[str, list[str]] = {
    "nonprivate": ["nonprivate", *TOWN, *ONCE, *SHORT],
    "structure": ["structure", *TOWN, *ONCE, *SHORT],
    "structure-links": ["structure", *TOWN, "--task", "link", "--seed", "3", *ONCE, "--json"],
    "base": ["base", *CORA, "--epsilon", "1", *TWICE, *FIXED, *SHORT],
    "base-scale": ["base", *CORA, "--epsilon", "1", *ONCE, *SHORT, "--set", "epochs=60"],
    "base-labels": ["base", *TOWN, "--epsilon", "2", "--label-epsilon", "1", *ONCE, *FIXED, *SHORT],
    "lpgnn-labels": ["lpgnn", *TOWN, "--epsilon", "1", "--label-epsilon", "2", *ONCE, *FIXED, *SHORT],
    "solitude-links": ["solitude", *TOWN, "--epsilon", "1", "--link-epsilon", "8", *ONCE, *FIXED, *SHORT],
    "ldpge": ["ldpge", *TOWN, "--epsilon", "1", *ONCE, *LDPGE_FIXED, *SHORT],
    "ldpge-links": ["ldpge", *TOWN, "--epsilon", "1", "--task", "link", *ONCE, *SHORT],
    "upgnet": ["upgnet", *CORA, "--epsilon", "1", "--mechanism", "piecewise", *ONCE, *FIXED, *SHORT],
    "ppgnn": ["ppgnn", *TOWN, "--epsilon", "1", *TWICE, *FIXED, *SHORT],
    "togl": ["togl", *TOWN, "--epsilon", "4", *ONCE, *FIXED, *SHORT],
}
# What a run takes is not the same twice.
MEASURED = ("seconds", "peak_mb", "version")


def processor() -> str:
    """What this machine computes with: another one may round sums of floats in another order."""
    for line in _cpu_lines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cpu_lines() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text(encoding="ascii", errors="replace").splitlines() if file.exists() else []


def result_of(name: str) -> dict[str, Any]:
    """What a command prints, but for what was measured; it keeps its results wherever GRAPHVEIL_CACHE says."""
    from graphveil.cli import status

    printed = io.StringIO()
    with redirect_stdout(printed):
        assert status(["run", *COMMANDS[name]]) == 0, name
    told: dict[str, Any] = json.loads(printed.getvalue())
    return {key: value for key, value in told.items() if key not in MEASURED}


def write(names: list[str]) -> None:
    """Write the results of some commands, or of all."""
    for name in names or COMMANDS:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["GRAPHVEIL_CACHE"] = cache
            told = {"processor": processor(), "result": result_of(name)}
        (HERE / f"{name}.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        print(name, told["result"]["runs"])


if __name__ == "__main__":
    write(sys.argv[1:])
