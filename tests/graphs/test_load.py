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


@pytest.mark.parametrize("form", [str, lambda path: path])
def test_a_file_of_one_s_own(tmp_path, form):
    graph, users = load(form(file(tmp_path)))
    assert (graph.name, graph.public_range.low, graph.public_range.high) == ("mine", -1.0, 3.0)
    assert (users.raw.features == VALUES).all()


def test_a_name_in_the_data_folder(places):
    file(places.data, "neighbours")
    assert load("neighbours")[0].name == "neighbours"


def test_features_without_a_range_are_refused_until_one_is_given(tmp_path):
    path = without(tmp_path, "range")
    with pytest.raises(InputError, match="no public range"):
        load(path)
    assert load(path, range=(-2, 4))[0].public_range.high == 4


def test_a_given_range_goes_before_the_file_s(tmp_path):
    assert load(file(tmp_path), range=(-5, 5))[0].public_range.low == -5


def test_values_outside_of_one_s_own_range_are_left_to_the_mechanism(tmp_path):
    _, users = load(file(tmp_path), range=(0, 1))
    assert (users.raw.features == VALUES).all()


def test_a_graph_without_features_loads_and_says_what_is_missing(tmp_path):
    graph, users = load(without(tmp_path, "x"))
    assert (graph.feature_count, graph.public_range) == (0, None)
    with pytest.raises(InputError, match="these users hold no features"):
        users.declare(1.0).report(Plan(mechanism="onebit", epsilon=1.0, dims=2, range=(0, 1)))


def test_masks_in_one_s_own_file_are_the_split(tmp_path):
    masks = np.zeros((3, COUNT), dtype=bool)
    masks[0, :4], masks[1, 4:6], masks[2, 6:9] = True, True, True
    path = file(tmp_path, train=masks[0], validation=masks[1], test=masks[2])
    assert load(path)[0].train.sum() == 4
    assert load(path, split="random")[0].train.sum() == COUNT / 2


def test_binary_metric_and_names_come_from_the_file(tmp_path):
    path = file(
        tmp_path,
        x=(VALUES > 0).astype(np.float32),
        range=[0, 1],
        binary=True,
        metric="roc_auc",
        feature_names=["a", "b"],
    )
    graph, _ = load(path)
    assert (graph.binary, graph.metric, graph.feature_names) == (True, "roc_auc", ("a", "b"))


def test_the_seed_fixes_the_split(tmp_path):
    path = file(tmp_path)
    first, again, other = (load(path, seed=seed)[0] for seed in (4, 4, 5))
    assert (first.train == again.train).all()
    assert (first.train != other.train).any()


def test_a_recipe_is_kept_for_the_next_split(tmp_path):
    graph, users = load(file(tmp_path), seed=1, split=FewLabelSplit(2, 4))
    assert resplit(graph, users, 2)[0].train.sum() == 4


def test_labels_and_classes_can_be_chosen(tmp_path):
    path = file(tmp_path, y_third=np.arange(COUNT) % 3)
    assert load(path, label="y_third")[0].class_count == 3
    graph, _ = load(path, label="y_third", largest_classes=2)
    assert (graph.class_count, graph.node_count) == (2, 27)


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


def test_a_graph_of_one_s_own_is_among_the_choices(places):
    file(places.data, "neighbours")
    with pytest.raises(InputError, match="lastfm-graph-only, neighbours, ogbn-arxiv"):
        load("nobody")


def test_a_registered_name_in_a_path_is_one_s_own_file(tmp_path):
    with pytest.raises(InputError, match="no public range"):
        load(without(tmp_path, "range", "cora"))


@pytest.mark.parametrize("name", ["cora", "co-phy"])
def test_binary_data_and_counts_are_taken_as_positive_or_not(places, name):
    file(places.data, name)
    graph, users = load(name)
    assert (graph.binary, graph.public_range.low, graph.public_range.high) == (True, 0, 1)
    assert (users.raw.features == (VALUES > 0)).all()
    assert users.raw.features.dtype == np.uint8


def test_another_range_for_binary_data_makes_it_real(places):
    file(places.data, "cora")
    graph, _ = load("cora", range=(-1, 1))
    assert (graph.binary, graph.public_range.low) == (False, -1)


def test_pubmed_is_clipped_to_its_public_range_and_to_no_other(places):
    file(places.data, "pubmed")
    for given, expected in ((None, VALUES.clip(0, 1)), ((0, 1), VALUES.clip(0, 1)), ((-1, 3), VALUES)):
        graph, users = load("pubmed", range=given)
        assert not graph.binary
        assert (users.raw.features == expected).all()


def test_sparse_real_values_are_clipped_too(places):
    parts = {
        "x_data": [0.5, 2.0],
        "x_indices": [0, 1],
        "x_indptr": [0, 1, 2] + [2] * 38,
        "x_shape": [COUNT, 2],
    }
    path = without(places.data, "x", "pubmed")
    np.savez(path, **dict(np.load(path)), **parts)
    _, users = load("pubmed")
    assert users.raw.features.toarray()[:2].tolist() == [[0.5, 0], [0, 1]]


def test_only_registered_labels_of_a_registered_dataset_can_be_chosen(places):
    file(places.data, "wikipedia", y_median=1 - LABELS, traffic=np.arange(COUNT) * 1000)
    assert load("wikipedia", label="y_median")[0].class_count == 2
    with pytest.raises(InputError, match="wikipedia has no label 'traffic': choose one of y, y_median"):
        load("wikipedia", label="traffic")


def test_masks_of_a_registered_dataset_are_used_when_asked_for(places):
    masks = np.zeros((3, COUNT), dtype=bool)
    masks[0, :4], masks[1, 4:6], masks[2, 6:9] = True, True, True
    file(places.data, "cora", train=masks[0], validation=masks[1], test=masks[2])
    assert load("cora")[0].recipe == RandomSplit()
    assert load("cora", split="given")[0].train.sum() == 4


def test_the_town_stays_the_same_and_the_split_follows_the_seed():
    (first, users), (other, same) = (load("town", seed=seed, users=400) for seed in (0, 1))
    assert (first.indices == other.indices).all()
    assert (first.train != other.train).any()
    assert (users.raw.features == same.raw.features).all()


def test_another_town_has_another_seed():
    first, other = (load("town", users=400, town_seed=seed)[0] for seed in (0, 1))
    assert first.edge_count != other.edge_count


def test_few_users_of_a_town_are_labelled():
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
