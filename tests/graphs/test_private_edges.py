"""Which links are private: a share of them, or those of a file; the rest is public, and so is who may have private ones."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.graphs import load
from graphveil.graphs.links import divide_edges, private_edges_file
from tests.refusals import check_refused


@pytest.fixture(scope="module")
def graph():
    return load("town", seed=0, users=300, neighbourhood=30, degree=8.0)[0]


def codes(pairs):
    return {(int(one), int(two)) for one, two in pairs}


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_about_a_share_of_the_links_is_private(graph, share):
    divided = divide_edges(graph, share, 0)
    private = codes(graph.pairs()) - codes(divided.public)
    assert codes(divided.public) <= codes(graph.pairs())
    drawn = set(divided.private_users.tolist())
    assert private == {pair for pair in codes(graph.pairs()) if set(pair) <= drawn}
    count = len(drawn)
    assert count * (count - 1) == pytest.approx(share * 300 * 299, rel=0.1)
    shares = [1 - len(divide_edges(graph, share, seed).public) / len(graph.pairs()) for seed in range(40)]
    # Users are drawn and not links, so one graph's share varies.
    assert np.mean(shares) == pytest.approx(share, abs=0.02)


def test_who_may_have_private_links_does_not_depend_on_links(graph):
    one = divide_edges(graph, 0.3, 0)
    private = codes(graph.pairs()) - codes(one.public)
    for link in sorted(private)[:5]:
        other = graph.with_edges(np.array(sorted(codes(graph.pairs()) - {link})))
        found = divide_edges(other, 0.3, 0)
        assert found.private_users.tolist() == one.private_users.tolist()
        assert codes(found.public) == codes(one.public)


def test_the_seed_decides_which_and_where_all_are_private_everybody_may_have_some(graph):
    one, same, other = (codes(divide_edges(graph, 0.3, seed).public) for seed in (1, 1, 2))
    assert one == same != other
    divided = divide_edges(graph, 1.0, 0)
    assert len(divided.public) == 0 and divided.private_users.tolist() == list(range(graph.node_count))
    public = divide_edges(graph, 0.5, 0).public
    assert public.dtype == np.int64 and (public[:, 0] < public[:, 1]).all()


def test_a_file_says_which_links_are_private_and_who_may_have_some(graph, tmp_path):
    (a, b), (c, d) = graph.pairs()[[3, 50]].tolist()
    linked = codes(graph.pairs())
    free = next(user for user in range(299) if (user, user + 1) not in linked)
    file = tmp_path / "private.txt"
    file.write_text(f"# private links\n{a} {b}\n\n{d},{c}\n{free} {free + 1}  # no link\n7\n")
    divided = divide_edges(graph, str(file), 0)
    assert linked - codes(divided.public) == {(a, b), (c, d)}
    assert divided.private_users.tolist() == sorted({a, b, c, d, free, free + 1, 7})


def test_what_says_nothing_of_private_links_is_refused(graph, tmp_path):
    def divided(text):
        (tmp_path / "private.txt").write_text(text)
        return divide_edges(graph, str(tmp_path / "private.txt"), 0)

    lines = ["1 2 3", "1 x", "5 5", "1 300", "-1 2", "1.5 2", "\uff17 3"]
    no_pair = "line 2 must name one or two users, 0..299"
    check_refused(
        divided, [("# nothing\n", "names nobody"), *((f"1 2\n{line}\n", no_pair) for line in lines)]
    )
    shares = [0, -0.1, 1.1, float("nan"), True, None, [0.1]]
    no_share = "private_edges must be a number above 0 and up to 1"
    wrong = [("nowhere.txt", "there is no file 'nowhere.txt'"), *((share, no_share) for share in shares)]
    check_refused(private_edges_file, wrong)
