"""Graphs that a function of a file or a package gives."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError
from graphveil.graphs.catalogue import catalogue, describe
from graphveil.graphs.load import outside_digest
from tests.packages import install

pytestmark = pytest.mark.usefixtures("forget_outside")

CODE = """
import numpy as np
import graphveil as gv

def ring(users=40, range=(0, 1)):
    numbers = np.arange(users)
    edges = np.stack([numbers, (numbers + 1) % users], axis=1)
    return gv.from_arrays(edges, np.eye(users), numbers % 2, range=range, seed=0)

def seeded(seed):
    graph, users = ring()
    return gv.graphs.resplit(graph, users, seed + 100)

def nothing():
    return None

def broken():
    return [][0]

number = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.py"
    path.write_text(CODE)
    return path


def test_a_function_of_a_file_gives_a_graph_with_options_as_its_arguments(file):
    graph, users = gv.load(f"{file}:ring")
    assert (graph.node_count, len(users)) == (40, 40)
    listing = describe(f"{file}:ring")
    assert (listing.users, listing.edges, listing.where) == (40, 40, "the file data.py")
    graph, _ = gv.load(f"{file}:ring", users=30, range=(-1, 2))
    assert (graph.node_count, graph.public_range.low) == (30, -1.0)
    with pytest.raises(InputError, match="ring takes no split: it takes users, range"):
        gv.load(f"{file}:ring", split="few")


def test_the_seed_draws_the_split_unless_the_function_takes_it(file):
    splits = [gv.load(f"{file}:ring", seed)[0].train for seed in (0, 1, 1)]
    assert not np.array_equal(splits[0], splits[1]) and np.array_equal(splits[1], splits[2])
    assert np.array_equal(gv.load(f"{file}:seeded", 5)[0].train, gv.load(f"{file}:ring", 105)[0].train)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "must return a graph and its users, it returned NoneType"),
        ("broken", "cannot be loaded: IndexError: list index out of range"),
        ("number", "is a int: name a function"),
        ("rings", "has no 'rings': it has ring, seeded, nothing, broken"),
    ],
)
def test_what_gives_no_graph_is_refused(file, name, words):
    with pytest.raises(InputError, match=words):
        gv.load(f"{file}:{name}")


def test_one_of_a_package_is_listed_without_running_it_and_comes_after_a_graph_that_is_here(
    places, tmp_path, monkeypatch
):
    install(tmp_path, monkeypatch, {"graphveil.datasets": {"ring": "ring"}}, "raise AssertionError\n")
    (listing,) = [each for each in catalogue() if each.name == "ring"]
    assert listing.where == "the package of-a-test 1.5" and listing.users is None
    np.savez(places.data / "ring.npz", edges=[[0, 1]], x=np.zeros((4, 2)), y=[0, 1, 0, 1], range=[0, 1])
    assert gv.load("ring")[0].node_count == 4 and outside_digest("ring") is None


def test_one_of_a_package_is_loaded_by_its_name(places, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.datasets": {"ring": "ring"}}, CODE)
    assert gv.load("ring", users=20)[0].node_count == 20
    assert outside_digest("ring") == "of-a-test 1.5" and describe("ring").users == 40
