import numpy as np
import pytest

from graphveil import InputError, Plan
from graphveil.graphs import FewLabelSplit, RandomSplit, load, resplit
from tests.graphs.real import COUNTS, each_real_graph, needs_data
from tests.together import together

COUNT = 40
EDGES = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1)
LABELS = np.arange(COUNT) % 2
VALUES = np.linspace(-1, 3, COUNT * 2).reshape(COUNT, 2).astype(np.float32)


def file(folder, name="mine", **change):
    path = folder / f"{name}.npz"
    np.savez(path, **{"edges": EDGES, "x": VALUES, "y": LABELS, "range": [-1.0, 3.0], **change})
    return path


def without(folder, key, name="mine"):
    path = file(folder, name)
    arrays = dict(np.load(path))
    del arrays[key]
    np.savez(path, **arrays)
    return path


def test_a_file_of_one_s_own_by_its_path_or_by_its_name_in_the_data_folder(places, tmp_path):
    file(places.data, "neighbours")
    for given in (str(file(tmp_path)), file(tmp_path), "neighbours"):
        graph, users = load(given)
        assert (graph.public_range.low, graph.public_range.high) == (-1.0, 3.0)
        assert graph.name == ("neighbours" if given == "neighbours" else "mine")
        assert (users.raw.features == VALUES).all()
    with pytest.raises(InputError, match="lastfm-graph-only, neighbours, ogbn-arxiv"):
        load("nobody")


def test_a_given_range_is_needed_where_the_file_has_none_and_goes_before_its_own(tmp_path):
    path = without(tmp_path, "range")
    # A registered name in a path is one's own file.
    for given in (path, without(tmp_path, "range", "cora")):
        with pytest.raises(InputError, match="no public range"):
            load(given)
    assert load(path, range=(-2, 4))[0].public_range.high == 4
    assert load(file(tmp_path), range=(-5, 5))[0].public_range.low == -5
    # Values outside are left to the mechanism.
    assert (load(file(tmp_path), range=(0, 1))[1].raw.features == VALUES).all()


def test_a_graph_without_features_loads_and_says_what_is_missing(tmp_path):
    graph, users = load(without(tmp_path, "x"))
    assert (graph.feature_count, graph.public_range) == (0, None)
    with pytest.raises(InputError, match="these users hold no features"):
        users.declare(1.0).report(Plan(mechanism="onebit", epsilon=1.0, dims=2, range=(0, 1)))


def some_masks():
    masks = np.zeros((3, COUNT), dtype=bool)
    masks[0, :4], masks[1, 4:6], masks[2, 6:9] = True, True, True
    return dict(zip(("train", "validation", "test"), masks, strict=True))


def test_masks_are_the_split_in_one_s_own_file_and_of_a_registered_dataset_when_asked_for(places, tmp_path):
    path = file(tmp_path, **some_masks())
    assert load(path)[0].train.sum() == 4
    assert load(path, split="random")[0].train.sum() == COUNT / 2
    file(places.data, "cora", **some_masks())
    assert load("cora")[0].recipe == RandomSplit()
    assert load("cora", split="given")[0].train.sum() == 4


def test_binary_metric_names_labels_and_classes_come_from_the_file(tmp_path):
    more = {"range": [0, 1], "binary": True, "metric": "roc_auc", "feature_names": ["a", "b"]}
    graph, _ = load(file(tmp_path, x=(VALUES > 0).astype(np.float32), **more))
    assert (graph.binary, graph.metric, graph.feature_names) == (True, "roc_auc", ("a", "b"))
    path = file(tmp_path, y_third=np.arange(COUNT) % 3)
    assert load(path, label="y_third")[0].class_count == 3
    graph, _ = load(path, label="y_third", largest_classes=2)
    assert (graph.class_count, graph.node_count) == (2, 27)


def test_the_seed_fixes_the_split_and_a_recipe_is_kept_for_the_next(tmp_path):
    path = file(tmp_path)
    first, again, other = (load(path, seed=seed)[0] for seed in (4, 4, 5))
    assert (first.train == again.train).all()
    assert (first.train != other.train).any()
    graph, users = load(file(tmp_path), seed=1, split=FewLabelSplit(2, 4))
    assert resplit(graph, users, 2)[0].train.sum() == 4


@together(
    ("source", "options", "words"),
    [
        (
            "mine@0123abcd",
            {},
            "a graph that was given in Python is not kept, only its results: give it again",
        ),
        ("nobody", {}, "no dataset is named 'nobody': give the path of an .npz file, or one of actor, "),
        ("nobody.npz", {}, "there is no file nobody.npz"),
        ("cora", {"users": 5}, "cora takes no users: only town and town-labels do"),
        ("town", {"size": 5}, "town has no option 'size': it takes users, features"),
        ("town", {"range": (0, 2)}, "town takes no range"),
        ("town", {"largest_classes": 2}, "town takes no largest_classes"),
        ("town", {"seed": -1}, "seed must be an integer of at least 0"),
        ("town", {"town_seed": -1}, "seed must be an integer of at least 0"),
        ("town", {"split": "given"}, "came without masks"),
    ],
)
def test_what_cannot_be_loaded_is_refused(places, source, options, words):
    with pytest.raises(InputError, match=words):
        load(source, **options)


@pytest.mark.parametrize("name", ["cora", "co-phy"])
def test_binary_data_and_counts_are_taken_as_positive_or_not(places, name):
    file(places.data, name)
    graph, users = load(name)
    assert (graph.binary, graph.public_range.low, graph.public_range.high) == (True, 0, 1)
    assert (users.raw.features == (VALUES > 0)).all()
    assert users.raw.features.dtype == np.uint8
    other, _ = load(name, range=(-1, 1))
    assert (other.binary, other.public_range.low) == (False, -1)


def test_the_range_of_registered_data_says_what_becomes_of_their_values(places):
    file(places.data, "pubmed")
    for given, expected in ((None, VALUES.clip(0, 1)), ((0, 1), VALUES.clip(0, 1)), ((-1, 3), VALUES)):
        graph, users = load("pubmed", range=given)
        assert not graph.binary
        assert (users.raw.features == expected).all()
    pointers = [0, 1, 2] + [2] * 38
    parts = {"x_data": [0.5, 2.0], "x_indices": [0, 1], "x_indptr": pointers, "x_shape": [COUNT, 2]}
    path = without(places.data, "x", "pubmed")
    np.savez(path, **dict(np.load(path)), **parts)
    _, users = load("pubmed")
    assert users.raw.features.toarray()[:2].tolist() == [[0.5, 0], [0, 1]]


def test_only_registered_labels_of_a_registered_dataset_can_be_chosen(places):
    file(places.data, "wikipedia", y_median=1 - LABELS, traffic=np.arange(COUNT) * 1000)
    assert load("wikipedia", label="y_median")[0].class_count == 2
    with pytest.raises(InputError, match="wikipedia has no label 'traffic': choose one of y, y_median"):
        load("wikipedia", label="traffic")


def test_the_town_stays_the_same_and_the_split_follows_the_seed():
    (first, users), (other, same) = (load("town", seed=seed, users=400) for seed in (0, 1))
    assert (first.indices == other.indices).all()
    assert (first.train != other.train).any()
    assert (users.raw.features == same.raw.features).all()
    first, other = (load("town", users=400, town_seed=seed)[0] for seed in (0, 1))
    assert first.edge_count != other.edge_count
    graph, _ = load("town", users=1000, labelled=0.02, validated=0.1)
    assert (graph.train.sum(), graph.validation.sum(), graph.binary) == (20, 100, True)
    assert graph.recipe == RandomSplit(0.02, 0.1)


@pytest.mark.parametrize("name", each_real_graph())
def test_real_graphs_have_the_sizes_of_their_source(name):
    graph, users = load(name)
    assert (graph.node_count, graph.edge_count, graph.feature_count, graph.class_count) == COUNTS[name]
    assert (graph.labels[graph.test] == -1).all()
    assert graph.train.sum() == round(len(users) / 2)


@needs_data("lastfm-graph-only")
def test_the_ten_largest_classes_of_lastfm_are_those_of_the_document():
    graph, _ = load("lastfm-graph-only", largest_classes=10)
    assert (graph.node_count, graph.edge_count, graph.class_count) == (7083, 25814, 10)


@needs_data("wikipedia")
def test_the_labels_of_wikipedia():
    for label, ones in (("y", 3315), ("y_median", 5815)):
        _, users = load("wikipedia", label=label)
        assert users.raw.labels.sum() == ones
