from tests.fixtures import printed_by

CODE = """
import sys
import graphveil.graphs
heavy = {"torch", "scipy", "typer", "rich", "numba", "sklearn", "networkx", "torch_geometric", "pandas"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
graphveil.graphs.load("town", users=400)
print("torch" in sys.modules)
"""


def test_importing_graphs_imports_nothing_heavy_and_loading_a_town_needs_no_torch():
    assert printed_by(CODE).splitlines() == ["[]", "False"]
