"""A collection as a sharded graph: the same graph, the same answers, and nobody's row."""

from dataclasses import replace

import numpy as np
import pytest

from graphveil import InputError, Plan
from graphveil.collect.export import export_shards
from graphveil.scale import load_whole
from tests.collect.small import PLAN, arrived, enrolled, later, made, ring

LABELS = Plan(mechanism="krr", epsilon=0.5, classes=2, users=tuple(range(2, 12, 3)))


@pytest.fixture
def collection(tmp_path):
    collection = made(tmp_path / "survey")
    enrolled(collection)
    arrived(collection, collection.publish(PLAN, later()), [7, 2, 9, 0])
    arrived(collection, collection.publish(LABELS, later()), [5, 2])
    collection.publish(PLAN.model_copy(update={"epsilon": 0.25}), later())
    for number in (1, 2):
        collection.close(number, force=True)
    return collection


def test_the_graph_is_the_collection_s(collection, tmp_path):
    exported = export_shards(collection, tmp_path / "shards", 3, seed=4)
    graph, ours = load_whole(tmp_path / "shards")[0], collection.graph(seed=4)
    for name in ("indptr", "indices", "labels", "train", "validation", "test"):
        assert np.array_equal(getattr(graph, name), getattr(ours, name)), name
    assert (graph.feature_count, graph.public_range, graph.class_count) == (8, ours.public_range, 2)
    assert exported.shards.partition_count == 3


def test_the_answers_of_closed_rounds_are_there_and_those_of_open_ones_not(collection, tmp_path):
    exported = export_shards(collection, tmp_path / "shards", 3)
    shards = exported.shards
    assert (exported.rounds, exported.left_out) == ((1, 2), {})
    for number, plan in ((1, PLAN), (2, LABELS)):
        whole, stored = collection.reports(number), shards.reports(plan)
        assert (stored.asked, stored.answered) == (whole.asked, whole.users)
        asked = np.arange(12) if plan.users == "all" else np.array(plan.users)
        sent = dict(zip(asked[whole.places].tolist(), np.split(whole.codes, whole.indptr[1:-1]), strict=True))
        found = {}
        for partition in range(3):
            table = shards.table(partition, partition + 1)
            part = stored.partition(partition, table.original)
            own = table.original[part.users - table.first][part.reports.places]
            found |= dict(
                zip(own.tolist(), np.split(part.reports.codes, part.reports.indptr[1:-1]), strict=False)
            )
        assert {user: codes.tolist() for user, codes in found.items()} == {
            user: codes.tolist() for user, codes in sent.items()
        }
    assert shards.reports(PLAN.model_copy(update={"epsilon": 0.25})) is None


def test_neither_rows_nor_ids_nor_labels_of_test_users_are_written(collection, tmp_path):
    shards = export_shards(collection, tmp_path / "shards", 2).shards
    assert not shards.simulated and shards.manifest.ids is None
    table = shards.table(0, 2)
    assert (table.labels[table.test] == -1).all()
    written = b"".join(file.read_bytes() for file in (tmp_path / "shards").rglob("*") if file.is_file())
    assert not any(str(name).encode() in written for name in collection.ids if len(name) > 2)


def test_a_later_graph_and_an_earlier_round(collection, tmp_path):
    collection.add_graph(ring(15))
    shards = export_shards(collection, tmp_path / "shards", 3).shards
    assert shards.users == 15 and shards.reports(PLAN).asked == 12


def test_rounds_of_links_and_those_whose_reports_were_deleted_are_left_out(collection, tmp_path, monkeypatch):
    rounds = collection.rounds()
    monkeypatch.setattr(type(collection), "rounds", lambda self: [replace(rounds[0], deleted=1), *rounds[1:]])
    exported = export_shards(collection, tmp_path / "deleted", 2)
    assert exported.rounds == (2,)
    assert exported.left_out == {1: "its reports were deleted when their time was over"}
    links = replace(rounds[0], plan=Plan(mechanism="link-rr", epsilon=1.0, dims=12))
    monkeypatch.setattr(type(collection), "rounds", lambda self: [links, *rounds[1:]])
    exported = export_shards(collection, tmp_path / "links", 2)
    assert exported.rounds == (2,) and list(exported.left_out) == [1]
    assert "shards number them anew" in exported.left_out[1]


def test_a_collection_without_links_is_refused(tmp_path):
    collection = made(tmp_path / "survey", private_links=True)
    with pytest.raises(InputError, match="knows no link"):
        export_shards(collection, tmp_path / "shards", 2)
    assert not (tmp_path / "shards").exists()
