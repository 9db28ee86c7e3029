"""Collections: what is published, arrives, is read, learned and forgotten."""

import numpy as np
import pytest
from sqlalchemy import text

from graphveil.collect.storage import open_collection
from graphveil.collect.writer import Arrival, ArrivalOutcome, store, store_row
from graphveil.errors import ClaimError, InputError, StoreError
from graphveil.mechanisms import Reports
from graphveil.privacy import Plan, join_parts
from graphveil.privacy.envelope import MAX_SECONDS
from graphveil.privacy.plan import plan_digest
from tests.collect.small import PLAN, arrived, asking, enrolled, later, made, messages, report_id, ring


@pytest.fixture
def collection(tmp_path):
    opened = made(tmp_path / "c")
    yield opened
    opened.database.close()


def test_a_collection_is_opened_as_it_was_made_and_by_its_owner_alone(collection):
    again = open_collection(collection.folder)
    assert again.settings == collection.settings
    assert again.ids.tolist() == [f"p{number}" for number in range(12)]
    assert again.key.public == collection.key.public
    again.database.close()
    assert [(collection.folder / name).stat().st_mode & 0o777 for name in ("key", "collection.toml")] == [
        0o600,
        0o600,
    ]
    enrolled(collection)
    files = [collection.folder, *collection.folder.glob("collection.sqlite*")]
    assert len(files) > 2
    assert [file.stat().st_mode & 0o077 for file in files] == [0] * len(files)


def test_a_folder_has_one_collection_or_is_refused(collection, tmp_path):
    with pytest.raises(InputError, match="holds a collection already"):
        made(collection.folder)
    with pytest.raises(InputError, match="graphveil collect init"):
        open_collection(tmp_path)


def test_the_database_of_another_collection_is_refused(collection, tmp_path):
    other = made(tmp_path / "d")
    other.database.close()
    with (collection.folder / "collection.toml").open("a") as file:
        file.write(f'database = "sqlite:///{other.folder / "collection.sqlite"}"\n')
    with pytest.raises(StoreError, match="holds another collection"):
        open_collection(collection.folder)


def test_the_graph_has_no_features_holds_back_test_labels_and_keeps_everybody_in_place(collection):
    graph = collection.graph()
    assert (graph.node_count, graph.edge_count, graph.feature_count, graph.class_count) == (12, 12, 8, 2)
    assert (graph.labels[graph.test] == -1).all() and graph.test.sum() == 2
    assert (collection.labels >= 0).sum() == 8
    assert graph.panel is None
    assert collection.add_graph(ring(6, first=10)) == 2
    assert collection.ids.tolist() == [f"p{number}" for number in range(16)]
    pairs = [[10, 11], [10, 15], [11, 12], [12, 13], [13, 14], [14, 15]]
    assert collection.graph().pairs().tolist() == pairs
    assert collection.graph(1).node_count == 12


def test_a_changed_graph_file_is_refused(tmp_path):
    opened = made(tmp_path / "changed")
    ring(3).write(opened.folder / "graph-1.npz")
    with pytest.raises(InputError, match="was changed"):
        opened.graph()
    opened.database.close()


def test_a_published_plan_is_frozen_and_published_once(collection):
    _, published = asking(collection)
    (found,) = open_collection(collection.folder).rounds()
    assert found.plan == PLAN and found.digest == published.digest == plan_digest(PLAN)
    assert found.asked.tolist() == list(range(12)) and not found.closed and found.answered == 0
    first = collection.publish(PLAN, later(), "one")
    other = open_collection(collection.folder)
    again = other.publish(PLAN, later(), "one")
    other.database.close()
    assert (again.number, again.published, again.expires) == (first.number, first.published, first.expires)
    assert [each.number for each in collection.rounds()] == [1]


def test_nobody_is_asked_who_has_not_enrolled(collection):
    collection.invite()
    with pytest.raises(InputError, match="nobody would answer"):
        collection.publish(PLAN, later())


def test_a_round_in_the_past_is_refused(collection):
    enrolled(collection)
    with pytest.raises(InputError, match="in the future"):
        collection.publish(PLAN, 1)


def test_a_plan_that_no_device_answers_is_refused(collection):
    enrolled(collection)
    with pytest.raises(ClaimError, match="no device answers"):
        collection.publish(
            Plan(mechanism="ppm-printed", epsilon=1.0, dims=8, range=(0, 1), levels=2), later()
        )


def test_a_cap_is_spent_by_rounds_that_asked(collection):
    enrolled(collection)
    collection.publish(PLAN, later())
    collection.publish(PLAN.model_copy(update={"round": 2, "users": (3, 4)}), later())
    third = collection.publish(PLAN.model_copy(update={"round": 3}), later())
    assert third.asked.tolist() == [0, 1, 2, *range(5, 12)]


def test_excluded_attributes_are_not_asked(collection):
    enrolled(collection, excluded=(5,))
    label = collection.publish(Plan(mechanism="krr", epsilon=0.5, classes=2), later())
    assert len(label.asked) == 12
    with pytest.raises(InputError, match="nobody would answer"):
        collection.publish(PLAN, later())


def test_reports_come_back_in_the_order_of_the_plan(collection):
    enrolled(collection)
    opened = collection.publish(PLAN.model_copy(update={"users": (7, 2, 9, 4)}), later())
    sent = arrived(collection, opened, [9, 7, 2])
    collection.close(opened.number, force=True)
    reports = collection.reports(opened.number)
    parts = [opened.plan.part([node]) for node in sent]
    one_by_one = join_parts(
        opened.plan,
        [(part, Reports.from_bytes(sent[part.users[0]], part.build())) for part in parts],
    )
    assert reports == one_by_one
    assert reports.answered.tolist() == [True, True, True, False]


def test_all_means_the_users_of_the_graph_when_it_was_published(collection):
    _, opened = asking(collection)
    arrived(collection, opened, range(12))
    collection.add_graph(ring(14))
    collection.close(1)
    assert collection.reports(1).asked == 12 and collection.reports(1).answered is None


def test_a_round_is_read_when_enough_have_answered_or_it_was_closed_by_force(collection):
    enrolled(collection)
    collection.publish(PLAN, later())
    with pytest.raises(InputError, match="is open, with 0 of 12 answers"):
        collection.reports(1)
    opened = collection.publish(PLAN, later())
    arrived(collection, opened, [1])
    with pytest.raises(InputError, match="has 1 answers, and is read from 12 on"):
        collection.close(1)
    assert collection.close(1, force=True).closed and collection.rounds()[0].closed


def test_forgetting_deletes_reports_and_marks_results(collection):
    enrolled(collection)
    for number in (1, 2):
        opened = collection.publish(PLAN.model_copy(update={"round": number}), later())
        arrived(collection, opened, [0, 1] if number == 1 else [1])
        collection.close(number, force=True)
    for used in ([1], [2], None):
        collection.keep_result({"rounds": used})
    assert collection.forget(0) == 1
    assert [result.outdated for result in collection.results()] == [True, False, True]
    assert collection.reports(1).places.tolist() == [1]
    roster = collection.roster()
    assert roster.enrolled.tolist() == [False] + [True] * 11 and roster.forgotten[0]
    assert collection.invite() == []


def test_what_was_forgotten_is_gone_from_the_files(collection):
    _, opened = asking(collection)
    arrived(collection, opened, range(12))
    files = [collection.folder / "collection.sqlite", collection.folder / "collection.sqlite-wal"]
    own = report_id(1, 3)
    assert any(own in file.read_bytes() for file in files if file.exists())
    collection.forget(3)
    assert not any(own in file.read_bytes() for file in files if file.exists())


def test_actions_name_nobody(collection):
    enrolled(collection)
    collection.forget(collection.node_of("p3"))
    assert [(action, detail) for _, action, detail in collection.actions()] == [
        ("init", "12 users"),
        ("invite", "12 users"),
        ("forget", "1 user"),
    ]


def test_old_reports_are_deleted_and_their_round_is_read_no_more(tmp_path):
    opened = made(tmp_path / "short", retention=30)
    enrolled(opened)
    arrived(opened, opened.publish(PLAN, later()), [0, 1, 2])
    opened.close(1, force=True)
    with opened.database.writing() as connection:
        connection.execute(text("UPDATE reports SET day = day - 31 WHERE node = 1"))
    assert opened.delete_expired() == 1
    assert opened.delete_expired() == 0
    with pytest.raises(InputError, match="1 reports of round 1 were deleted"):
        opened.reports(1)
    opened.database.close()


def test_without_retention_nothing_is_deleted(collection):
    assert collection.delete_expired() == 0


def test_rows_of_volunteers_are_a_panel(collection):
    enrolled(collection, volunteer=True)
    with collection.database.writing() as connection:
        for node in (5, 2):
            row = np.full(8, node / 10)
            assert store_row(connection, node, row.tobytes()) is ArrivalOutcome.STORED
    panel = collection.panel()
    assert panel.users.tolist() == [2, 5] and panel.rows[:, 0].tolist() == [0.2, 0.5]


def test_counts(collection):
    enrolled(collection)
    arrived(collection, collection.publish(PLAN, later()), [0, 4])
    assert collection.counts() == {
        "invited": 12,
        "enrolled": 12,
        "unregistered": 0,
        "volunteered": 0,
        "forgotten": 0,
        "reports": 2,
        "rows": 0,
    }


def test_a_row_beyond_the_range_moves_no_more_than_the_range(collection):
    enrolled(collection, volunteer=True)
    with collection.database.writing() as connection:
        store_row(connection, 3, np.array([1e308, -1e308, 0.25, 0, 0, 0, 0, 1]).tobytes())
    assert collection.panel().rows.tolist() == [[1, 0, 0.25, 0, 0, 0, 0, 1]]


def test_a_plan_that_could_not_be_read_again_is_not_published(collection, monkeypatch):
    enrolled(collection)
    monkeypatch.setattr("graphveil.privacy.plan.MAX_BYTES", 40)
    with pytest.raises(InputError, match="at most 40 are read"):
        collection.publish(PLAN, later())
    monkeypatch.undo()
    assert collection.rounds() == []


def test_a_plan_that_is_larger_than_a_device_reads_is_not_published(collection):
    enrolled(collection)
    model = {"kind": "linear", "weights": [[1 << 40] * 8] * 800, "bias": [0] * 800}
    told = {"of": "class", "dims": 8, "range": (0.0, 1.0), "classes": 2, "model": model, "lists": [[0, 1]]}
    with pytest.raises(InputError, match="no device answers this plan: one user's part has"):
        collection.publish(Plan(mechanism="krr", epsilon=0.5, users=(3,), **told), later())
    assert collection.rounds() == []


def test_the_same_question_in_two_rounds_has_the_same_answer(collection):
    enrolled(collection)
    one, two = (
        collection.publish(PLAN.model_copy(update={"users": users}), later()) for users in ((1, 2), (2, 3))
    )
    sent = messages(one, [2])[2]
    for number in (one.number, two.number):
        with collection.database.writing() as connection:
            told = store(connection, [Arrival(number, 2, b"one id, 16 bytes", sent)])
        assert told == [ArrivalOutcome.STORED]
    assert [each.answered for each in collection.rounds()] == [1, 1]


def give_rows(collection, *nodes):
    with collection.database.writing() as connection:
        for node in nodes:
            assert store_row(connection, node, np.zeros(8).tobytes()) is ArrivalOutcome.STORED


def test_a_volunteer_who_goes_marks_what_used_the_panel(collection):
    enrolled(collection, volunteer=True)
    give_rows(collection, 4)
    for card in ({"rounds": [1], "panel": True}, {"rounds": [1], "panel": False}, {"rounds": [1]}):
        collection.keep_result(card)
    collection.forget(4)
    assert [result.outdated for result in collection.results()] == [True, False, True]


def test_whoever_goes_after_reports_were_deleted_is_still_in_what_was_learned(tmp_path):
    opened = made(tmp_path / "short", retention=30)
    enrolled(opened, volunteer=True)
    arrived(opened, opened.publish(PLAN.model_copy(update={"users": (0, 1)}), later()), [0, 1])
    opened.publish(PLAN.model_copy(update={"users": (2, 3)}), later())
    give_rows(opened, 5)
    with opened.database.writing() as connection:
        for table in ("reports", "rows"):
            connection.execute(text(f"UPDATE {table} SET day = day - 31"))
    for card in (
        {"rounds": [1], "panel": False},
        {"rounds": [2], "panel": False},
        {"rounds": [2], "panel": True},
    ):
        opened.keep_result(card)
    assert opened.delete_expired() == 3
    opened.forget(5)
    assert [result.outdated for result in opened.results()] == [False, False, True]
    opened.forget(0)
    assert [result.outdated for result in opened.results()] == [True, False, True]
    opened.database.close()


def test_who_was_forgotten_while_something_was_learned_marks_it(collection):
    enrolled(collection)
    collection.forget(3)
    collection.keep_result({"rounds": []}, np.array([2, 3]))
    collection.keep_result({"rounds": []}, np.array([2, 4]))
    assert [result.outdated for result in collection.results()] == [True, False]


def test_a_log_that_is_still_read_is_said_to_hold_what_was_forgotten(collection, monkeypatch):
    enrolled(collection)
    monkeypatch.setattr("graphveil.collect.database.PATIENCE", 0.05)
    hasty = open_collection(collection.folder)
    with collection.database.reading() as reader:
        reader.execute(text("SELECT count(*) FROM roster")).all()
        with pytest.raises(StoreError, match="file and its log still hold copies"):
            hasty.forget(3)
    assert hasty.forget(3) == 0
    hasty.database.close()


@pytest.mark.parametrize("expires", [MAX_SECONDS + 1, 1 << 60])
def test_a_round_that_no_calendar_has_the_end_of_is_not_published(collection, expires):
    enrolled(collection)
    with pytest.raises(InputError, match="must expire in the future, by the year 9999"):
        collection.publish(PLAN, expires)
    assert collection.rounds() == []
