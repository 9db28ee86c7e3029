"""The public surface, and the one direction in which folders import each other."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import graphveil

SOURCE = Path(graphveil.__file__).parent
# Arrows point one way: a room imports only from rooms to its left.
ROOMS = [
    "errors",
    "checks",
    "registry",
    "settings",
    "channels",
    "mechanisms",
    "privacy",
    "audit",
    "graphs",
    "linear",
    "denoise",
    "learn",
    "pyg",
    "methods",
    "attacks",
    "experiments",
    "cli",
]
PUBLIC = {
    "Audit",
    "BudgetError",
    "Channel",
    "Claim",
    "ClaimError",
    "ClippedWarning",
    "Embedding",
    "Estimate",
    "FeatureMechanism",
    "Graph",
    "GraphveilError",
    "InputError",
    "Ledger",
    "Mechanism",
    "MessageError",
    "Plan",
    "PrivacyError",
    "Reports",
    "Result",
    "SeededWords",
    "SystemWords",
    "Users",
    "__version__",
    "answer",
    "audit",
    "channels",
    "check_mechanism",
    "embed",
    "errors",
    "experiments",
    "feature_family",
    "from_arrays",
    "from_networkx",
    "from_pyg",
    "graphs",
    "learn",
    "load",
    "mechanism",
    "mechanisms",
    "methods",
    "privacy",
    "pyg",
    "read_embedding",
    "register",
    "run",
    "to_pyg",
}


def test_the_public_names_are_these():
    assert set(graphveil.__all__) == PUBLIC


@pytest.mark.parametrize(
    "package", ["graphveil", "graphveil.channels", "graphveil.mechanisms", "graphveil.privacy"]
)
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    "package", ["graphveil", "graphveil.channels", "graphveil.mechanisms", "graphveil.privacy"]
)
def test_public_names_are_sorted_and_single(package):
    names = importlib.import_module(package).__all__
    assert len(set(names)) == len(names)


def imported_rooms(file: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{file} imports relatively: name the module in full")
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [node.module]
                if node.module != "graphveil"
                else [f"graphveil.{name.name}" for name in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("graphveil.")}
    return rooms & set(ROOMS)


def test_no_room_imports_from_a_higher_one():
    wrong = []
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        assert room in ROOMS, f"{file} is in a room that the list of rooms does not name"
        higher = {other for other in imported_rooms(file) if ROOMS.index(other) > ROOMS.index(room)}
        wrong += [f"{file.relative_to(SOURCE)} imports {other}" for other in higher]
    assert wrong == []


CLIENT = """
import sys
import numpy as np
import graphveil as gv
plan = gv.Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1))
reports = gv.answer(plan, np.eye(4), gv.Ledger(4, 1.0))
gv.Reports.from_bytes(reports.to_bytes(), plan.build()).estimate().dense()
heavy = {"torch", "scipy", "typer", "rich", "numba", "sklearn", "matplotlib", "torch_geometric", "optuna", "pandas"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""


def test_importing_graphveil_and_reporting_needs_numpy_and_pydantic_only():
    done = subprocess.run([sys.executable, "-c", CLIENT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
