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
    "outside",
    "suites",
    "registry",
    "settings",
    "lazy",
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
LAZY = ["graphveil.audit", "graphveil.denoise", "graphveil.learn", "graphveil.linear"]
PACKAGES = ["graphveil", "graphveil.channels", "graphveil.mechanisms", "graphveil.privacy", *LAZY]
# Imports stand at the top of a file. What a function may import itself, and why.
INSIDE_FUNCTIONS = {
    # A client answers plans without the steps of an audit, and reports with numpy alone.
    "audit/__init__.py": {"graphveil.audit.candidate", "graphveil.audit.examine"},
    "audit/paths.py": {"scipy"},
    "mechanisms/estimate.py": {"scipy.sparse"},
    # Graphs are described, and towns are loaded, before anything heavy; PyG is there for those who ask for it.
    "graphs/convert.py": {"scipy.sparse", "torch", "torch_geometric.data"},
    "graphs/graph.py": {"scipy.sparse"},
    "graphs/metrics.py": {"sklearn.metrics"},
    "graphs/npz.py": {"scipy.sparse"},
    "graphs/snap.py": {"scipy.sparse", "torch_geometric.data"},
    # A suite for whoever writes a method: registering methods does not need what it checks with.
    "methods/check.py": {"scipy.sparse", "torch.utils._python_dispatch"},
}
# A command checks its arguments before it imports what it runs.
AFTER_ARGUMENTS = ("cli", "experiments")


def test_the_public_names_are_these():
    assert set(graphveil.__all__) == PUBLIC


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def listing_order(name: str) -> tuple[bool, bool, str]:
    """Constants come first, then classes, then all else, each by the alphabet: ruff sorts imports the same way."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_sorted_and_single(package):
    names = list(importlib.import_module(package).__all__)
    assert names == sorted(set(names), key=listing_order)


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


def test_the_import_check_sees_a_wrong_import(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("from graphveil.cli import main\nimport graphveil.learn\nfrom graphveil import methods\n")
    assert imported_rooms(file) == {"cli", "learn", "methods"}


def imports_inside_functions(file: Path) -> set[str]:
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = [node for function in functions for node in ast.walk(function)]
    modules = {node.module or "" for node in inside if isinstance(node, ast.ImportFrom)}
    return modules | {name.name for node in inside if isinstance(node, ast.Import) for name in node.names}


def test_imports_stand_at_the_top_of_files():
    found = {str(file.relative_to(SOURCE)): imports_inside_functions(file) for file in SOURCE.rglob("*.py")}
    counted = {
        name: modules
        for name, modules in found.items()
        if modules and name.split("/")[0] not in AFTER_ARGUMENTS
    }
    assert counted == INSIDE_FUNCTIONS


def test_the_check_of_tops_sees_an_import_inside_a_function(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "import os\nclass A:\n  def f(self):\n    import json\n    from graphveil.learn import fit\n"
    )
    assert imports_inside_functions(file) == {"json", "graphveil.learn"}


@pytest.mark.parametrize("package", LAZY)
def test_the_names_of_a_lazy_package_are_those_that_it_finds(package):
    module = importlib.import_module(package)
    assert set(module.__all__) - {"audit"} == set(module.__dir__())


@pytest.mark.parametrize("room", ["denoise", "learn", "linear"])
def test_modules_of_a_lazy_room_import_each_other_in_full(room):
    # Through the package, a circle of imports would go unnoticed.
    wrong = [
        file.name
        for file in (SOURCE / room).glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if node.module == f"graphveil.{room}" or (node.module, name.name) == ("graphveil", room)
    ]
    assert wrong == []


def test_importing_methods_and_what_they_learn_with_loads_nothing_heavy():
    code = """
import sys
import graphveil.denoise, graphveil.learn, graphveil.linear, graphveil.methods
heavy = {"torch", "scipy", "numba", "sklearn", "matplotlib", "torch_geometric", "pandas"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
