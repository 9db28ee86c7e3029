from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.errors import InputError
from graphveil.graphs import Graph, Panel, Users, from_arrays, load, resplit, with_panel
from graphveil.graphs.npz import Raw, read_npz, write_npz
from tests.refusals import check_refused

COUNT = 40
EDGES = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1)
LABELS = np.arange(COUNT) % 2
# Row u holds u throughout: whose row it is can be read off it.
ROWS = np.repeat(np.arange(COUNT, dtype=float)[:, None], 3, axis=1)


def data(rows=ROWS, **options) -> tuple[Graph, Users]:
    return from_arrays(EDGES, rows, LABELS, range=(0, COUNT), **options)


def marked(*users):
    who = np.zeros(COUNT, dtype=bool)
    who[list(users)] = True
    return who


def dense(panel):
    return panel.rows.toarray() if hasattr(panel.rows, "tocsr") else panel.rows


@pytest.mark.parametrize("rows", [ROWS, csr_array(ROWS)], ids=["dense", "sparse"])
def test_volunteers_are_training_users_with_their_own_rows_and_lead_to_nobody_else(rows):
    graph, users = data(rows)
    panel = with_panel(graph, users, 7, seed=3).panel
    assert panel.users.dtype == np.int64 and len(panel) == 7
    assert graph.train[panel.users].all() and (np.diff(panel.users) > 0).all()
    assert np.array_equal(dense(panel), ROWS[panel.users])
    assert panel.rows.shape == (7, 3)
    held = [panel.rows.data, panel.rows.indices] if hasattr(panel.rows, "tocsr") else [panel.rows]
    for array in held:
        # An array that is a part of a larger one would lead to it.
        assert array.base is None or array.base.size <= 7 * 3
        assert not np.shares_memory(array, rows.data if hasattr(rows, "tocsr") else rows)
    assert set(np.unique(dense(panel))) <= set(panel.users.tolist())


def test_a_seed_fixes_who_volunteers_and_leaves_the_graph_as_it_was():
    graph, users = data()
    first, again, other = (with_panel(graph, users, 7, seed).panel.users for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    few, many = (with_panel(graph, users, count, 0).panel.users for count in (4, 9))
    assert set(few) < set(many)
    drawn = with_panel(graph, users, 7, 0)
    assert graph.panel is None and drawn.without_panel().panel is None
    assert np.array_equal(drawn.labels, graph.labels) and np.array_equal(drawn.train, graph.train)


def test_a_panel_cannot_be_written_to_and_tells_its_size_and_no_row():
    panel = with_panel(*data(), 7, 0).panel
    with pytest.raises(ValueError, match="read-only"):
        panel.rows[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        panel.users[0] = 1
    graph = with_panel(*data(), 7, 0)
    assert repr(graph.panel) == "Panel(7 volunteers, 3 features)"
    assert repr(graph).endswith("20/10/10, 7 volunteers)")


def test_a_panel_that_cannot_be_is_refused():
    graph, users = data()
    bare = from_arrays(EDGES, None, LABELS)
    number, truths = "panel must be an integer of at least 1", "panel must be 40 truths, one a user"
    no_features = "mine has no features that volunteers could give"
    check_refused(
        lambda ask: ask(),
        [
            *(
                (lambda count=count: with_panel(graph, users, count, 0), number)
                for count in (0, -1, 2.5, True)
            ),
            (
                lambda: with_panel(graph, users, 21, 0),
                "panel must be an integer of at most 20, the number of training users",
            ),
            (lambda: with_panel(*bare, 3, 0), no_features),
            (lambda: from_arrays(EDGES, None, LABELS, panel=marked(1)), no_features),
            (lambda: with_panel(*data(panel=marked(1, 5)), 3, 0), "mine has 2 volunteers of its own"),
            (
                lambda: with_panel(graph, users.with_levels(np.ones(COUNT, dtype=int)), 3, 0),
                "a row may tell a user's privacy level",
            ),
            (lambda: data(panel=np.ones(3, dtype=bool)), truths),
            (lambda: data(panel=np.arange(COUNT)), truths),
            (lambda: data(panel=np.ones((COUNT, 2), dtype=bool)), truths),
            (lambda: replace(graph, panel=Panel(np.array([40]), ROWS[:1])), "volunteers must be users 0..39"),
            (
                lambda: replace(graph, panel=Panel(np.array([4]), np.zeros((1, 2)))),
                "must have the 3 features of the graph, got 2",
            ),
            (lambda: Panel(np.array([4, 5]), ROWS[:1]), "2 rows, one a volunteer, got 1"),
            (lambda: Panel(np.array([5, 4]), ROWS[:2]), "sorted by their numbers, each once"),
        ],
    )


def test_marked_users_give_their_rows_whether_they_train_or_not_and_stay_who_they_are():
    graph, users = data(panel=marked(*range(COUNT)))
    assert np.array_equal(graph.panel.users, np.arange(COUNT))
    few, _ = data(panel=marked(30, 2))
    assert few.panel.users.tolist() == [2, 30] and np.array_equal(few.panel.rows, ROWS[[2, 30]])
    assert np.array_equal(users.raw.features, ROWS)
    graph, users = data(panel=marked(30, 2))
    again, _ = resplit(graph, users, 1)
    assert not np.array_equal(again.train, graph.train) and again.panel.users.tolist() == [2, 30]
    assert data(panel=marked())[0].panel is None
    assert Panel.of("small", ROWS, marked(), COUNT) is None


def written(path, panel, **more):
    fields = {"range": (0, COUNT), "panel": panel, **more}
    write_npz(path, Raw(EDGES, LABELS, ROWS, **fields))
    return path


def test_volunteers_of_a_file_are_loaded_with_their_rows(tmp_path):
    file = written(tmp_path / "club.npz", marked(30, 2))
    assert np.array_equal(read_npz(file).panel, marked(30, 2))
    graph, _ = load(file)
    assert graph.panel.users.tolist() == [2, 30] and np.array_equal(graph.panel.rows, ROWS[[2, 30]])
    # It is no label that could be chosen.
    with pytest.raises(InputError, match="club has no label 'panel'"):
        load(file, label="panel")


@pytest.mark.parametrize(
    ("panel", "words"),
    [
        (np.arange(COUNT), "panel must be True for each user who volunteers"),
        (np.ones((2, COUNT), dtype=bool), "panel must be True for each user who volunteers"),
        (np.ones(3, dtype=bool), "panel must be 40 truths, one a user, got 3"),
    ],
)
def test_a_file_whose_panel_is_something_else_is_refused(tmp_path, panel, words):
    with pytest.raises(InputError, match=words):
        read_npz(written(tmp_path / "club.npz", panel))


def test_volunteers_keep_their_rows_where_only_the_largest_classes_are_kept(tmp_path):
    file = tmp_path / "club.npz"
    labels = np.where(np.arange(COUNT) < 4, 2, LABELS)
    write_npz(file, Raw(EDGES, labels, ROWS, range=(0, COUNT), panel=marked(1, 10, 30)))
    graph, _ = load(file, largest_classes=2)
    assert graph.panel.users.tolist() == [6, 26] and np.array_equal(graph.panel.rows, ROWS[[10, 30]])


def test_volunteers_go_to_pyg_and_back():
    from graphveil.graphs import from_pyg, to_pyg

    graph, users = data(panel=marked(30, 2))
    there = to_pyg(graph, users)
    assert there.panel_mask.nonzero().ravel().tolist() == [2, 30]
    back, _ = from_pyg(there, range=(0, COUNT))
    assert back.panel.users.tolist() == [2, 30] and np.array_equal(dense(back.panel), ROWS[[2, 30]])
    assert "x" not in to_pyg(graph)
