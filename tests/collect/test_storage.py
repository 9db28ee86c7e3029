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
from tests.collect.small import PLAN, arrived, asking, enrolled, later, made, messages, ring
from tests.refusals import check_refused


def test_a_collection_is_opened_as_it_was_made_and_by_its_owner_alone(local):
    again = open_collection(local.folder)
    assert again.settings == local.settings
    assert again.ids.tolist() == [f"p{number}" for number in range(12)]
    assert again.key.public == local.key.public
    again.database.close()
    assert [(local.folder / name).stat().st_mode & 0o777 for name in ("key", "collection.toml")] == [
        0o600,
        0o600,
    ]
    enrolled(local)
    files = [local.folder, *local.folder.glob("collection.sqlite*")]
    assert len(files) > 2
    assert [file.stat().st_mode & 0o077 for file in files] == [0] * len(files)


def test_a_folder_has_one_collection_or_is_refused(local, tmp_path):
    with pytest.raises(InputError, match="holds a collection already"):
        made(local.folder)
    with pytest.raises(InputError, match="graphveil collect init"):
        open_collection(tmp_path)


def test_the_database_of_another_collection_is_refused(local, tmp_path):
    other = made(tmp_path / "d")
    other.database.close()
    with (local.folder / "collection.toml").open("a") as file:
        file.write(f'database = "sqlite:///{other.folder / "collection.sqlite"}"\n')
    with pytest.raises(StoreError, match="holds another collection"):
        open_collection(local.folder)


def test_the_graph_has_no_features_holds_back_test_labels_and_keeps_everybody_in_place(local):
    graph = local.graph()
    assert (graph.node_count, graph.edge_count, graph.feature_count, graph.class_count) == (12, 12, 8, 2)
    assert (graph.labels[graph.test] == -1).all() and graph.test.sum() == 2
    assert (local.labels >= 0).sum() == 8
    assert graph.panel is None
    assert local.add_graph(ring(6, first=10)) == 2
    assert local.ids.tolist() == [f"p{number}" for number in range(16)]
    pairs = [[10, 11], [10, 15], [11, 12], [12, 13], [13, 14], [14, 15]]
    assert local.graph().pairs().tolist() == pairs
    assert local.graph(1).node_count == 12


def test_a_changed_graph_file_is_refused(tmp_path):
    opened = made(tmp_path / "changed")
    ring(3).write(opened.folder / "graph-1.npz")
    with pytest.raises(InputError, match="was changed"):
        opened.graph()
    opened.database.close()


def test_a_published_plan_is_frozen_and_published_once(local):
    _, published = asking(local)
    (found,) = open_collection(local.folder).rounds()
    assert found.plan == PLAN and found.digest == published.digest == plan_digest(PLAN)
    assert found.asked.tolist() == list(range(12)) and not found.closed and found.answered == 0
    first = local.publish(PLAN, later(), "one")
    other = open_collection(local.folder)
    again = other.publish(PLAN, later(), "one")
    other.database.close()
    assert (again.number, again.published, again.expires) == (first.number, first.published, first.expires)
    assert [each.number for each in local.rounds()] == [1]


def test_nobody_is_asked_who_has_not_enrolled(local):
    local.invite()
    with pytest.raises(InputError, match="nobody would answer"):
        local.publish(PLAN, later())


def test_what_nobody_could_answer_or_read_again_is_not_published(local, monkeypatch):
    enrolled(local)
    false = Plan(mechanism="ppm-printed", epsilon=1.0, dims=8, range=(0, 1), levels=2)
    with pytest.raises(ClaimError, match="no device answers"):
        local.publish(false, later())
    model = {"kind": "linear", "weights": [[1 << 40] * 8] * 800, "bias": [0] * 800}
    told = {"of": "class", "dims": 8, "range": (0.0, 1.0), "classes": 2, "model": model, "lists": [[0, 1]]}
    large = Plan(mechanism="krr", epsilon=0.5, users=(3,), **told)
    refused = [
        (PLAN, 1, "in the future"),
        (PLAN, MAX_SECONDS + 1, "must expire in the future, by the year 9999"),
        (PLAN, 1 << 60, "must expire in the future, by the year 9999"),
        (large, later(), "no device answers this plan: one user's part has"),
    ]
    check_refused(local.publish, refused)
    monkeypatch.setattr("graphveil.privacy.plan.MAX_BYTES", 40)
    check_refused(local.publish, [(PLAN, later(), "at most 40 are read")])
    monkeypatch.undo()
    assert local.rounds() == []


def test_a_cap_is_spent_by_rounds_that_asked(local):
    enrolled(local)
    local.publish(PLAN, later())
    local.publish(PLAN.model_copy(update={"round": 2, "users": (3, 4)}), later())
    third = local.publish(PLAN.model_copy(update={"round": 3}), later())
    assert third.asked.tolist() == [0, 1, 2, *range(5, 12)]


def test_excluded_attributes_are_not_asked(local):
    enrolled(local, excluded=(5,))
    label = local.publish(Plan(mechanism="krr", epsilon=0.5, classes=2), later())
    assert len(label.asked) == 12
    with pytest.raises(InputError, match="nobody would answer"):
        local.publish(PLAN, later())


def test_reports_come_back_in_the_order_of_the_plan(local):
    enrolled(local)
    opened = local.publish(PLAN.model_copy(update={"users": (7, 2, 9, 4)}), later())
    sent = arrived(local, opened, [9, 7, 2])
    local.close(opened.number, force=True)
    reports = local.reports(opened.number)
    parts = [opened.plan.part([node]) for node in sent]
    one_by_one = join_parts(
        opened.plan,
        [(part, Reports.from_bytes(sent[part.users[0]], part.build())) for part in parts],
    )
    assert reports == one_by_one
    assert reports.answered.tolist() == [True, True, True, False]


def test_all_means_the_users_of_the_graph_when_it_was_published(local):
    _, opened = asking(local)
    arrived(local, opened, range(12))
    local.add_graph(ring(14))
    local.close(1)
    assert local.reports(1).asked == 12 and local.reports(1).answered is None


def test_a_round_is_read_when_enough_have_answered_or_it_was_closed_by_force(local):
    enrolled(local)
    local.publish(PLAN, later())
    with pytest.raises(InputError, match="is open, with 0 of 12 answers"):
        local.reports(1)
    opened = local.publish(PLAN, later())
    arrived(local, opened, [1])
    with pytest.raises(InputError, match="has 1 answers, and is read from 12 on"):
        local.close(1)
    assert local.close(1, force=True).closed and local.rounds()[0].closed


def test_forgetting_deletes_reports_and_marks_results(local):
    enrolled(local)
    for number in (1, 2):
        opened = local.publish(PLAN.model_copy(update={"round": number}), later())
        arrived(local, opened, [0, 1] if number == 1 else [1])
        local.close(number, force=True)
    for used in ([1], [2], None):
        local.keep_result({"rounds": used})
    assert local.forget(0) == 1
    assert [result.outdated for result in local.results()] == [True, False, True]
    assert local.reports(1).places.tolist() == [1]
    roster = local.roster()
    assert roster.enrolled.tolist() == [False] + [True] * 11 and roster.forgotten[0]
    assert local.invite() == []


def test_actions_name_nobody(local):
    enrolled(local)
    local.forget(local.node_of("p3"))
    assert [(action, detail) for _, action, detail in local.actions()] == [
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


def test_without_retention_nothing_is_deleted(local):
    assert local.delete_expired() == 0


def test_counts(local):
    enrolled(local)
    arrived(local, local.publish(PLAN, later()), [0, 4])
    assert local.counts() == {
        "invited": 12,
        "enrolled": 12,
        "unregistered": 0,
        "volunteered": 0,
        "forgotten": 0,
        "reports": 2,
        "rows": 0,
    }


def test_a_row_beyond_the_range_moves_no_more_than_the_range(local):
    enrolled(local, volunteer=True)
    with local.database.writing() as connection:
        store_row(connection, 3, np.array([1e308, -1e308, 0.25, 0, 0, 0, 0, 1]).tobytes())
    assert local.panel().rows.tolist() == [[1, 0, 0.25, 0, 0, 0, 0, 1]]


def test_the_same_question_in_two_rounds_has_the_same_answer(local):
    enrolled(local)
    one, two = (
        local.publish(PLAN.model_copy(update={"users": users}), later()) for users in ((1, 2), (2, 3))
    )
    sent = messages(one, [2])[2]
    for number in (one.number, two.number):
        with local.database.writing() as connection:
            told = store(connection, [Arrival(number, 2, b"one id, 16 bytes", sent)])
        assert told == [ArrivalOutcome.STORED]
    assert [each.answered for each in local.rounds()] == [1, 1]


def give_rows(collection, *nodes):
    with collection.database.writing() as connection:
        for node in nodes:
            assert store_row(connection, node, np.zeros(8).tobytes()) is ArrivalOutcome.STORED


def test_a_volunteer_who_goes_marks_what_used_the_panel(local):
    enrolled(local, volunteer=True)
    give_rows(local, 4)
    for card in ({"rounds": [1], "panel": True}, {"rounds": [1], "panel": False}, {"rounds": [1]}):
        local.keep_result(card)
    local.forget(4)
    assert [result.outdated for result in local.results()] == [True, False, True]


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


def test_who_was_forgotten_while_something_was_learned_marks_it(local):
    enrolled(local)
    local.forget(3)
    local.keep_result({"rounds": []}, np.array([2, 3]))
    local.keep_result({"rounds": []}, np.array([2, 4]))
    assert [result.outdated for result in local.results()] == [True, False]


def test_a_log_that_is_still_read_is_said_to_hold_what_was_forgotten(local, monkeypatch):
    enrolled(local)
    monkeypatch.setattr("graphveil.collect.database.PATIENCE", 0.05)
    hasty = open_collection(local.folder)
    with local.database.reading() as reader:
        reader.execute(text("SELECT count(*) FROM roster")).all()
        with pytest.raises(StoreError, match="file and its log still hold copies"):
            hasty.forget(3)
    assert hasty.forget(3) == 0
    hasty.database.close()
