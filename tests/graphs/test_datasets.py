import importlib
import inspect

import pytest

from graphveil import InputError
from graphveil.graphs import DATASETS, dataset, load
from graphveil.graphs.datasets import PygSource
from tests.graphs.real import COUNTS
from tests.together import together

FROM_PYG = [
    known
    for known in DATASETS.values()
    if isinstance(known.source, PygSource) and known.source.module == "torch_geometric.datasets"
]


def test_every_dataset_of_the_documents_is_known():
    documents = {"cora", "citeseer", "pubmed", "lastfm", "facebook", "wikipedia", "twitch", "twitch-128"}
    documents |= {"co-phy", "ogbn-arxiv", "flickr", "reddit", "ppi", "flickr-mir"}
    assert documents <= set(DATASETS)
    with pytest.raises(InputError, match="no dataset is named 'core': choose one of town, town-labels, cora"):
        dataset("core")


@together("name", COUNTS)
def test_registered_sizes_are_those_of_the_source(name):
    known = dataset(name)
    assert (known.users, known.edges, known.features, known.classes) == COUNTS[name]


@pytest.mark.parametrize("town", ["town", "town-labels"])
def test_the_registered_sizes_of_a_town_are_those_of_the_default_town(town):
    known, (graph, _) = dataset(town), load(town)
    sizes = (graph.node_count, graph.edge_count, graph.feature_count, graph.class_count)
    assert (known.users, known.edges, known.features, known.classes) == sizes


@together("known", DATASETS.values())
def test_binary_values_counts_and_signs_have_the_unit_range(known):
    if known.values in ("binary", "counts", "signs"):
        assert known.range == (0.0, 1.0)
    assert (known.values == "none") == (known.features == 0)


def test_features_that_were_computed_from_everybody_s_data_have_no_public_range():
    computed = {"facebook-128", "github-128", "lastfm-128", "ogbn-arxiv", "reddit", "twitch-128"}
    assert {name for name, known in DATASETS.items() if known.features and known.range is None} == computed


@together("known", FROM_PYG)
def test_pyg_has_the_class_and_it_takes_the_options(known):
    kind = getattr(importlib.import_module(known.source.module), known.source.kind)
    options = dict(known.source.options)
    if known.source.parts:
        options["split"] = known.source.parts[0]
    inspect.signature(kind.__init__).bind(None, root="", **options)


def test_what_cannot_be_downloaded_says_why_and_several_labels_a_user_are_measured_by_f1():
    assert all(known.note for known in DATASETS.values() if known.source is None)
    assert {name for name, known in DATASETS.items() if known.several_labels} == {
        name for name, known in DATASETS.items() if known.metric == "f1"
    }
