"""The public surface, and the one direction in which folders import each other."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import graphveil
from tests.together import together

SOURCE = Path(graphveil.__file__).parent
# Arrows point one way: a room imports only from rooms to its left.
ROOMS = [
    "version",
    "interrupts",
    "process",
    "errors",
    "extras",
    "checks",
    "cache",
    "number_format",
    "statistics",
    "files",
    "progress",
    "plugins",
    "suites",
    "settings",
    "lazy",
    "channels",
    "mechanisms",
    "privacy",
    "client",
    "audit",
    "graphs",
    "linear",
    "denoise",
    "learn",
    "pyg",
    "methods",
    "attacks",
    "experiments",
    "collect",
    "scale",
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
    "Model",
    "Plan",
    "Predictions",
    "PrivacyError",
    "Reports",
    "Result",
    "SeededBits",
    "SeededWords",
    "SystemBits",
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
    "load_model",
    "mechanism",
    "mechanisms",
    "methods",
    "predict",
    "privacy",
    "pyg",
    "read_embedding",
    "register",
    "run",
    "save",
    "sweep",
    "to_pyg",
    "tune",
}
LAZY = [
    "graphveil.attacks",
    "graphveil.audit",
    "graphveil.denoise",
    "graphveil.learn",
    "graphveil.linear",
    "graphveil.scale",
]
PACKAGES = [
    "graphveil",
    "graphveil.channels",
    "graphveil.client",
    "graphveil.experiments",
    "graphveil.mechanisms",
    "graphveil.privacy",
    *LAZY,
]
# Imports stand at the top of a file. What a function may import itself, and why.
INSIDE_FUNCTIONS = {
    # numba takes a fifth of a second: whoever multiplies nothing does without it.
    "linear/sparse.py": {"graphveil.linear.compiled"},
    "learn/topology.py": {"graphveil.linear.compiled"},
    # Importing the package costs as little as starting Python.
    "__init__.py": {"graphveil.audit"},
    "lazy.py": {"ast"},
    # Where the command line's libraries are missing, one sentence names them.
    "__main__.py": {"graphveil.cli"},
    # A client answers plans without the steps of an audit, and reports with numpy alone.
    # A device without the library says so, and how to install it.
    "client/keys.py": {"cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric.ed25519"},
    "audit/__init__.py": {"graphveil.audit.candidate", "graphveil.audit.examine"},
    "audit/versions.py": {"scipy"},
    "mechanisms/base.py": {"scipy.sparse"},
    # Only a curator walks over dendrograms, in compiled code.
    "mechanisms/edgerr.py": {"graphveil.mechanisms"},
    # Graphs are described, and towns are loaded, before anything heavy; PyG is there for those who ask for it.
    "graphs/convert.py": {"scipy.sparse", "torch", "torch_geometric.data"},
    "graphs/graph.py": {"scipy.sparse"},
    "graphs/metrics.py": {"sklearn.metrics"},
    "graphs/npz.py": {"scipy.sparse"},
    "graphs/store.py": {"scipy.sparse", "torch_geometric.data"},
    # Tables need pyarrow, which is loaded with the first one.
    "graphs/tables.py": {"pyarrow"},
    # A sharded graph is read without scipy unless its features are sparse; METIS is optional, and the other partitioner is compiled.
    "scale/partition_learning.py": {"pyarrow"},
    "scale/partitioners.py": {"graphveil.scale.streaming", "pymetis"},
    "scale/shard_reader.py": {"scipy.sparse"},
    "scale/simulated_users.py": {"scipy.sparse"},
    # Only those who ask for Ray need it.
    "scale/units.py": {"graphveil.scale.ray_workers"},
    # Attacks are listed before anything heavy is there.
    "attacks/attribute.py": {"scipy.sparse"},
    # A suite for whoever writes a method: registering methods does not need what it checks with.
    "methods/check.py": {"scipy.sparse", "torch.utils._python_dispatch"},
    # Only what opens a collection needs its database.
    "cli/audit.py": {"graphveil.collect.storage"},
    "cli/collect.py": {
        "graphveil.collect.demo",
        "graphveil.collect.export",
        "graphveil.collect.keys",
        "graphveil.collect.roster",
        "graphveil.collect.server",
        "graphveil.collect.storage",
    },
    "cli/statement.py": {"graphveil.collect.storage"},
    # A command refuses wrong arguments before anything heavy is there.
    "experiments/artefacts.py": {"pyarrow", "scipy.linalg", "torch"},
    "statistics.py": {"scipy.special", "scipy.stats"},
    "experiments/model.py": {"torch"},
    "experiments/unit.py": {"torch"},
    # Only figures need matplotlib, only a search that learns from its trials needs optuna, only .parquet files pyarrow.
    "experiments/table.py": {"pyarrow"},
    "experiments/drawings.py": {"networkx", "sklearn.manifold"},
    "experiments/figure.py": {
        "matplotlib",
        "matplotlib.backends.backend_svg",
        "matplotlib.figure",
        "matplotlib.text",
    },
    "experiments/tuning.py": {"optuna", "optuna.trial"},
}
HEAVY = {
    "duckdb",
    "matplotlib",
    "numba",
    "optuna",
    "pandas",
    "pyarrow",
    "ray",
    "scipy",
    "sklearn",
    "torch",
    "torch_geometric",
}


def test_the_public_names_are_these():
    assert set(graphveil.__all__) == PUBLIC


@together("package", PACKAGES)
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def listing_order(name: str) -> tuple[bool, bool, str]:
    """Constants come first, then classes, then all else, each by the alphabet: ruff sorts imports the same way."""
    return not name.isupper(), not name[0].isupper(), name


@together("package", PACKAGES)
def test_public_names_are_sorted_and_single(package):
    names = list(importlib.import_module(package).__all__)
    assert names == sorted(set(names), key=listing_order)


@cache
def tree_of(file: Path) -> ast.Module:
    """What a file says; it is read once for all tests."""
    return ast.parse(file.read_text())


def imported_names(file: Path) -> set[str]:
    """What a file imports, in full: modules, and names of modules or packages; what only its types need is there too."""
    return set(names_in(ast.walk(tree_of(file)), file))


def names_in(nodes: Iterable[ast.AST], file: Path) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{file} imports relatively: name the module in full")
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def imported_rooms(file: Path, package: str = "graphveil", rooms: Sequence[str] = ROOMS) -> set[str]:
    below = [
        name.removeprefix(package + ".") for name in imported_names(file) if name.startswith(package + ".")
    ]
    return {name.split(".")[0] for name in below} & set(rooms)


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


def test_nothing_in_experiments_is_imported_through_the_package():
    package, folder = "graphveil.experiments", SOURCE / "experiments"
    # Through the package, any module could be reached.
    public = {f"{package}.{name}" for name in graphveil.experiments.__all__}
    wrong = {
        file.name: public & imported_names(file) for file in folder.glob("*.py") if file.name != "__init__.py"
    }
    assert not any(wrong.values()), wrong


def test_no_module_of_experiments_is_hidden_by_a_public_name():
    modules = {file.stem for file in (SOURCE / "experiments").glob("*.py")}
    assert modules & set(graphveil.experiments.__all__) == set()


def modules_of(folder: Path, package: str) -> dict[str, Path]:
    """All modules of a package, by their full names; a package is the module of its ``__init__``."""
    files = {
        (package, *file.relative_to(folder).with_suffix("").parts): file for file in folder.rglob("*.py")
    }
    return {".".join(parts).removesuffix(".__init__"): file for parts, file in files.items()}


def is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def import_graph(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which module imports which, sooner or later: functions count, and what a lazy package loads for its users.

    What a module imports for its types alone does not count: it is never there when the program runs.
    """
    graph = {}
    for module, file in modules.items():
        tree = tree_of(file)
        types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and is_for_types(node.test)]
        if file.name == "__init__.py":
            types = []
        for_types = {node for branch in types for statement in branch.body for node in ast.walk(statement)}
        counted = [node for node in ast.walk(tree) if node not in for_types]
        names = {name if name in modules else name.rpartition(".")[0] for name in names_in(counted, file)}
        graph[module] = (names & set(modules)) - {module}
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle():
    assert circle(import_graph(modules_of(SOURCE, "graphveil"))) == []


def test_the_check_of_circles_sees_one_that_a_function_and_a_lazy_package_hide(tmp_path):
    (tmp_path / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from whole.a import thing\n"
    )
    (tmp_path / "a.py").write_text("import whole.b\n")
    (tmp_path / "b.py").write_text("def f():\n  from whole import thing\n")
    assert set(circle(import_graph(modules_of(tmp_path, "whole")))) == {"whole", "whole.a", "whole.b"}


def test_the_check_of_circles_lets_types_pass(tmp_path):
    (tmp_path / "a.py").write_text("from whole import b\n")
    (tmp_path / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from whole.a import thing\n"
    )
    assert circle(import_graph(modules_of(tmp_path, "whole"))) == []


def imports_inside_functions(file: Path) -> set[str]:
    functions = [
        node for node in ast.walk(tree_of(file)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = [node for function in functions for node in ast.walk(function)]
    modules = {node.module or "" for node in inside if isinstance(node, ast.ImportFrom)}
    return modules | {name.name for node in inside if isinstance(node, ast.Import) for name in node.names}


def test_imports_stand_at_the_top_of_files():
    found = {str(file.relative_to(SOURCE)): imports_inside_functions(file) for file in SOURCE.rglob("*.py")}
    assert {name: modules for name, modules in found.items() if modules} == INSIDE_FUNCTIONS


def test_the_check_of_tops_sees_an_import_inside_a_function(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "import os\nclass A:\n  def f(self):\n    import json\n    from graphveil.learn import fit\n"
    )
    assert imports_inside_functions(file) == {"json", "graphveil.learn"}


@together("package", LAZY)
def test_the_names_of_a_lazy_package_are_those_that_it_finds(package):
    module = importlib.import_module(package)
    assert set(module.__all__) - {"audit"} == set(module.__dir__())


@together("room", ["attacks", "denoise", "learn", "linear"])
def test_modules_of_a_lazy_room_import_each_other_in_full(room):
    # Through the package, a circle of imports would go unnoticed.
    wrong = [
        file.name
        for file in (SOURCE / room).glob("*.py")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if node.module == f"graphveil.{room}" or (node.module, name.name) == ("graphveil", room)
    ]
    assert wrong == []


# One process: what each of them loads counts for those after it, too.
LOADING = """
import sys

def told():
    print(sorted(sys.modules))

import numpy as np
import graphveil as gv
plan = gv.Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1))
reports = gv.answer(plan, np.eye(4), gv.Ledger(4, 1.0))
gv.Reports.from_bytes(reports.to_bytes(), plan.build()).estimate().dense()
told()
import graphveil.denoise, graphveil.learn, graphveil.linear, graphveil.methods
told()
import graphveil.cli
told()
graphveil.linear.SparseMatrix
told()
"""


@pytest.fixture(scope="module")
def loaded():
    """The modules that are there after reporting, after methods, after the command line and after the use of a name."""
    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
    return [set(ast.literal_eval(line)) for line in done.stdout.splitlines()]


def packages_of(modules: Iterable[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_importing_graphveil_and_reporting_needs_numpy_and_pydantic_only(loaded):
    assert packages_of(loaded[0]) & (HEAVY | {"typer", "rich"}) == set()


def test_importing_methods_or_commands_loads_nothing_heavy(loaded):
    assert [packages_of(modules) & HEAVY for modules in loaded[1:3]] == [set(), set()]


def test_using_a_name_of_a_lazy_package_loads_its_module_and_no_other(loaded):
    room = {name for name in loaded[3] - loaded[2] if name.startswith("graphveil.linear.")}
    assert "graphveil.linear.sparse" in room and "graphveil.linear.kernels" not in loaded[3]


def test_a_class_name_is_used_once():
    places: dict[str, list[str]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
