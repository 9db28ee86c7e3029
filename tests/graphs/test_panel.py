import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.errors import InputError
from graphveil.graphs import Graph, Panel, Users, from_arrays, load, resplit, with_panel
from graphveil.graphs.npz import Raw, read_npz, write_npz

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
def test_volunteers_are_training_users_with_their_own_rows(rows):
    graph, users = data(rows)
    panel = with_panel(graph, users, 7, seed=3).panel
    assert panel.users.dtype == np.int64 and len(panel) == 7
    assert graph.train[panel.users].all() and (np.diff(panel.users) > 0).all()
    assert np.array_equal(dense(panel), ROWS[panel.users])


@pytest.mark.parametrize("rows", [ROWS, csr_array(ROWS)], ids=["dense", "sparse"])
def test_nothing_of_anybody_else_is_reached_from_a_panel(rows):
    graph, users = data(rows)
    panel = with_panel(graph, users, 7, seed=3).panel
    assert panel.rows.shape == (7, 3)
    held = [panel.rows.data, panel.rows.indices] if hasattr(panel.rows, "tocsr") else [panel.rows]
    for array in held:
        # An array that is a part of a larger one would lead to it.
        assert array.base is None or array.base.size <= 7 * 3
        assert not np.shares_memory(array, rows.data if hasattr(rows, "tocsr") else rows)
    assert set(np.unique(dense(panel))) <= set(panel.users.tolist())


def test_a_seed_fixes_who_volunteers_and_another_one_draws_others():
    graph, users = data()
    first, again, other = (with_panel(graph, users, 7, seed).panel.users for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_fewer_volunteers_are_among_more_of_them():
    graph, users = data()
    few, many = (with_panel(graph, users, count, 0).panel.users for count in (4, 9))
    assert set(few) < set(many)


def test_drawing_a_panel_leaves_the_graph_as_it_was():
    graph, users = data()
    drawn = with_panel(graph, users, 7, 0)
    assert graph.panel is None and drawn.without_panel().panel is None
    assert np.array_equal(drawn.labels, graph.labels) and np.array_equal(drawn.train, graph.train)


def test_a_panel_cannot_be_written_to():
    panel = with_panel(*data(), 7, 0).panel
    with pytest.raises(ValueError, match="read-only"):
        panel.rows[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        panel.users[0] = 1


def test_a_panel_tells_its_size_and_no_row():
    graph = with_panel(*data(), 7, 0)
    assert repr(graph.panel) == "Panel(7 volunteers, 3 features)"
    assert repr(graph).endswith("20/10/10, 7 volunteers)")


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_a_number_of_volunteers_that_is_none_is_refused(count):
    with pytest.raises(InputError, match="panel must be an integer of at least 1"):
        with_panel(*data(), count, 0)


def test_more_volunteers_than_training_users_are_refused():
    with pytest.raises(
        InputError, match="panel must be an integer of at most 20, the number of training users"
    ):
        with_panel(*data(), 21, 0)


def test_volunteers_without_features_are_refused():
    graph, users = from_arrays(EDGES, None, LABELS)
    with pytest.raises(InputError, match="mine has no features that volunteers could give"):
        with_panel(graph, users, 3, 0)


def test_no_others_are_drawn_where_the_data_have_volunteers():
    with pytest.raises(InputError, match="mine has 2 volunteers of its own"):
        with_panel(*data(panel=marked(1, 5)), 3, 0)


def test_volunteers_among_users_with_levels_are_refused():
    graph, users = data()
    with pytest.raises(InputError, match="a row may tell a user's privacy level"):
        with_panel(graph, users.with_levels(np.ones(COUNT, dtype=int)), 3, 0)


def test_marked_users_give_their_rows_whether_they_train_or_not():
    graph, users = data(panel=marked(*range(COUNT)))
    assert np.array_equal(graph.panel.users, np.arange(COUNT))
    few, _ = data(panel=marked(30, 2))
    assert few.panel.users.tolist() == [2, 30] and np.array_equal(few.panel.rows, ROWS[[2, 30]])
    assert np.array_equal(users.raw.features, ROWS)


def test_volunteers_stay_who_they_are_in_the_next_split():
    graph, users = data(panel=marked(30, 2))
    again, _ = resplit(graph, users, 1)
    assert not np.array_equal(again.train, graph.train) and again.panel.users.tolist() == [2, 30]


def test_a_column_that_marks_nobody_is_no_panel():
    assert data(panel=marked())[0].panel is None
    assert Panel.of("small", ROWS, marked(), COUNT) is None


@pytest.mark.parametrize("panel", [np.ones(3, dtype=bool), np.arange(COUNT), np.ones((COUNT, 2), dtype=bool)])
def test_a_column_that_is_no_truth_a_user_is_refused(panel):
    with pytest.raises(InputError, match="panel must be 40 truths, one a user"):
        data(panel=panel)


def test_marked_users_without_features_are_refused():
    with pytest.raises(InputError, match="mine has no features that volunteers could give"):
        from_arrays(EDGES, None, LABELS, panel=marked(1))


def test_a_panel_of_other_users_or_features_does_not_fit_a_graph():
    from dataclasses import replace

    graph, _ = data()
    with pytest.raises(InputError, match=r"volunteers must be users 0\.\.39"):
        replace(graph, panel=Panel(np.array([40]), np.zeros((1, 3))))
    with pytest.raises(InputError, match="must have the 3 features of the graph, got 2"):
        replace(graph, panel=Panel(np.array([4]), np.zeros((1, 2))))
    with pytest.raises(InputError, match="2 rows, one a volunteer, got 1"):
        Panel(np.array([4, 5]), np.zeros((1, 3)))
    with pytest.raises(InputError, match="sorted by their numbers, each once"):
        Panel(np.array([5, 4]), np.zeros((2, 3)))


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


@pytest.mark.parametrize("panel", [np.arange(COUNT), np.ones((2, COUNT), dtype=bool)])
def test_a_file_whose_panel_is_something_else_is_refused(tmp_path, panel):
    with pytest.raises(InputError, match="panel must be True for each user who volunteers"):
        read_npz(written(tmp_path / "club.npz", panel))


def test_a_file_whose_panel_is_about_other_users_is_refused(tmp_path):
    with pytest.raises(InputError, match="panel must be 40 truths, one a user, got 3"):
        read_npz(written(tmp_path / "club.npz", np.ones(3, dtype=bool)))


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
