"""Graphs: what the server may know, what only users hold, datasets and splits."""

# ruff: noqa: F401
from graphveil.graphs.convert import from_arrays, from_networkx, from_pyg, to_pyg
from graphveil.graphs.datasets import DATASETS, Dataset, dataset
from graphveil.graphs.divide import resplit
from graphveil.graphs.graph import Graph, symmetric_csr
from graphveil.graphs.links import KnownLinks, LinkPairs, hold_out_links
from graphveil.graphs.load import load
from graphveil.graphs.panel import Panel, with_panel
from graphveil.graphs.splits import FewLabelSplit, GivenSplit, RandomSplit, Split, SplitRecipe
from graphveil.graphs.store import get
from graphveil.graphs.town import LabelTown, Town
from graphveil.graphs.users import Private, SimulatedUsers, Users
