"""Data as Python gives them."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments.experiment import take_data

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.random((60, 8)).astype(np.float32)


def data(**more):
    return Data(
        x=torch.from_numpy(ROWS),
        edge_index=torch.from_numpy(RANDOM.integers(0, 60, (2, 150))),
        y=torch.arange(60) % 2,
        **more,
    )


def test_pyg_s_data_becomes_a_graph_with_its_masks():
    masks = {
        f"{name}_mask": torch.arange(60) % 3 == place for place, name in enumerate(("train", "val", "test"))
    }
    name, given, left = take_data(data(**masks), None, {"range": (0, 1), "epsilon": 1.0})
    assert (name, left) == ("mine", {"epsilon": 1.0})
    assert given[0].train.tolist() == masks["train_mask"].tolist()
    assert given[0].public_range.high == 1


def test_a_missing_range_is_refused_by_the_name_of_the_argument():
    with pytest.raises(InputError, match=r"mine has features but no public range: give range=\(LOW, HIGH\)"):
        gv.run("base", data(), epsilon=1.0)


def test_a_range_beside_a_name_is_the_loader_s():
    assert take_data("my.npz", None, {"range": (0, 1)}) == (
        "my.npz",
        None,
        {"data_options": {"range": (0, 1)}},
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((42, None, {}), "data must be the name of a dataset.*got int"),
        (("town", object(), {}), "give a graph together with its users"),
    ],
)
def test_what_is_no_data_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        take_data(*arguments)


def test_a_divided_graph_takes_no_range():
    graph, users = gv.from_pyg(data(), range=(0, 1))
    with pytest.raises(InputError, match="range has no meaning for a graph that is divided already"):
        take_data(graph, users, {"range": (0, 1)})
    with pytest.raises(InputError, match="give a graph together with its users"):
        take_data(graph, None, {})
