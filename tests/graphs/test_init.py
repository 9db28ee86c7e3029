import subprocess
import sys


def test_importing_graphs_imports_nothing_heavy():
    code = """
import sys
import graphveil.graphs
heavy = {"torch", "scipy", "typer", "rich", "numba", "sklearn", "networkx", "torch_geometric", "pandas"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_a_town_needs_no_torch():
    code = "import sys, graphveil.graphs as g; g.load('town', users=400); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
