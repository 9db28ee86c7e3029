"""Data as Python gives them."""

import re

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments.experiment import take_data
from tests.refusals import check_refused

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.random((60, 8)).astype(np.float32)


def data(**more):
    edges = torch.from_numpy(RANDOM.integers(0, 60, (2, 150)))
    return Data(x=torch.from_numpy(ROWS), edge_index=edges, y=torch.arange(60) % 2, **more)


def test_pyg_s_data_becomes_a_graph_with_its_masks():
    names = enumerate(("train", "val", "test"))
    masks = {f"{name}_mask": torch.arange(60) % 3 == place for place, name in names}
    name, given, left = take_data(data(**masks), None, {"range": (0, 1), "epsilon": 1.0})
    assert (name, left) == ("mine", {"epsilon": 1.0})
    assert given[0].train.tolist() == masks["train_mask"].tolist()
    assert given[0].public_range.high == 1


def test_a_range_beside_a_name_is_the_loader_s():
    taken = take_data("my.npz", None, {"range": (0, 1)})
    assert taken == ("my.npz", None, {"data_options": {"range": (0, 1)}})


def test_what_is_no_data_is_refused():
    graph, users = gv.from_pyg(data(), range=(0, 1))
    wrong = [
        (42, None, {}, re.compile("data must be the name of a dataset.*got int")),
        ("town", object(), {}, "give a graph together with its users"),
        (graph, None, {}, "give a graph together with its users"),
        (graph, users, {"range": (0, 1)}, "range has no meaning for a graph that is divided already"),
    ]
    check_refused(take_data, wrong)
    with pytest.raises(InputError, match=r"mine has features but no public range: give range=\(LOW, HIGH\)"):
        gv.run("base", data(), epsilon=1.0)
