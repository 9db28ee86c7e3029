"""Which links are private: a share of them, or those of a file; the rest is public, and so is who may have private ones."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.graphs import load
from graphveil.graphs.links import divide_edges, private_edges_file
from tests.together import together


@pytest.fixture(scope="module")
def graph():
    return load("town", seed=0, users=300, neighbourhood=30, degree=8.0)[0]


def codes(pairs, graph):
    return {(int(one), int(two)) for one, two in pairs}


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_about_a_share_of_the_links_is_private(graph, share):
    divided = divide_edges(graph, share, 0)
    private = codes(graph.pairs(), graph) - codes(divided.public, graph)
    assert codes(divided.public, graph) <= codes(graph.pairs(), graph)
    drawn = set(divided.private_users.tolist())
    assert private == {pair for pair in codes(graph.pairs(), graph) if set(pair) <= drawn}
    count = len(drawn)
    assert count * (count - 1) == pytest.approx(share * 300 * 299, rel=0.1)
    shares = [1 - len(divide_edges(graph, share, seed).public) / len(graph.pairs()) for seed in range(40)]
    # Users are drawn and not links, so one graph's share varies.
    assert np.mean(shares) == pytest.approx(share, abs=0.02)


def test_who_may_have_private_links_does_not_depend_on_links(graph):
    one = divide_edges(graph, 0.3, 0)
    private = codes(graph.pairs(), graph) - codes(one.public, graph)
    for link in sorted(private)[:5]:
        other = graph.with_edges(np.array(sorted(codes(graph.pairs(), graph) - {link})))
        found = divide_edges(other, 0.3, 0)
        assert found.private_users.tolist() == one.private_users.tolist()
        assert codes(found.public, graph) == codes(one.public, graph)


def test_everybody_may_have_private_links_where_all_are_private(graph):
    divided = divide_edges(graph, 1.0, 0)
    assert len(divided.public) == 0 and divided.private_users.tolist() == list(range(graph.node_count))


def test_the_seed_decides_which(graph):
    one, same, other = (codes(divide_edges(graph, 0.3, seed).public, graph) for seed in (1, 1, 2))
    assert one == same != other


def test_a_file_says_which_links_are_private_and_who_may_have_some(graph, tmp_path):
    (a, b), (c, d) = graph.pairs()[[3, 50]].tolist()
    linked = codes(graph.pairs(), graph)
    free = next(user for user in range(299) if (user, user + 1) not in linked)
    file = tmp_path / "private.txt"
    file.write_text(f"# private links\n{a} {b}\n\n{d},{c}\n{free} {free + 1}  # no link\n7\n")
    divided = divide_edges(graph, str(file), 0)
    assert linked - codes(divided.public, graph) == {(a, b), (c, d)}
    assert divided.private_users.tolist() == sorted({a, b, c, d, free, free + 1, 7})


@together("line", ["1 2 3", "1 x", "5 5", "1 300", "-1 2", "1.5 2", "\uff17 3"])
def test_a_line_that_names_no_pair_is_refused(graph, tmp_path, line):
    file = tmp_path / "private.txt"
    file.write_text(f"1 2\n{line}\n")
    with pytest.raises(InputError, match=r"line 2 must name one or two users, 0\.\.299"):
        divide_edges(graph, str(file), 0)


def test_a_file_that_names_nobody_is_refused(graph, tmp_path):
    file = tmp_path / "private.txt"
    file.write_text("# nothing\n")
    with pytest.raises(InputError, match="names nobody"):
        divide_edges(graph, str(file), 0)


@together("given", [0, -0.1, 1.1, float("nan"), True, None, [0.1]])
def test_a_share_that_is_none_is_refused(given):
    with pytest.raises(InputError, match="private_edges must be a number above 0 and up to 1"):
        private_edges_file(given)


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="there is no file 'nowhere.txt'"):
        private_edges_file("nowhere.txt")


def test_public_links_keep_their_form(graph):
    divided = divide_edges(graph, 0.5, 0)
    assert divided.public.dtype == np.int64 and (divided.public[:, 0] < divided.public[:, 1]).all()
