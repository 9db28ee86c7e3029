import subprocess
import sys

import pytest

CODE = """
import sys
import graphveil.graphs
heavy = {"torch", "scipy", "typer", "rich", "numba", "sklearn", "networkx", "torch_geometric", "pandas"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
graphveil.graphs.load("town", users=400)
print("torch" in sys.modules)
"""


@pytest.fixture(scope="module")
def lines():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_importing_graphs_imports_nothing_heavy(lines):
    assert lines[:1] == ["[]"]


def test_loading_a_town_needs_no_torch(lines):
    assert lines[1:] == ["False"]
