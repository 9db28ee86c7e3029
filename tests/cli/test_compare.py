import pytest

from graphveil.experiments import ResultStore
from graphveil.experiments.store import RESULTS
from tests.experiments.test_records import result


@pytest.fixture(autouse=True)
def store(own_folder):
    store = ResultStore(own_folder / "cache" / RESULTS)
    for epsilon, score in ((1.0, 0.5), (2.0, 0.6), (4.0, 0.4)):
        store.add(result(epsilon, score=score))
    store.add(result(8.0, seed=10))
    store.tag([2], add=["good"])
    return store


def test_two_results_are_compared_by_number_and_tag(call):
    told = call("compare 1 good")
    (row,) = [line for line in told.lines if "-10.0" in line]
    # All runs differ by 10 points.
    assert row.split()[:2] == ["1", "(base,"]
    assert "2 (base, ε = 2)" in row and "10.0 ± 0.0 points below" in row
    assert "Holm" not in told.out and "paired two-sided t-test" in told.out


def test_a_method_is_narrowed_by_its_budget(call):
    call("compare base good --epsilon 4 --json", ends=2)
    told = call("compare base 2 --epsilon 4 --json").json
    assert [each["number"] for each in told["results"]] == [3, 2]
    (pair,) = told["comparisons"]
    assert (pair["first"], pair["second"], pair["seeds"], pair["p_holm"]) == (3, 2, [0, 1], None)
    assert pair["difference"]["mean"] == pytest.approx(-0.2)


def test_three_results_are_three_comparisons_corrected_in_words(call):
    out = call("compare 1 2 3").out
    assert "p after Holm" in out and "There are 3 comparisons" in out


def test_a_page_has_both_views(call, tmp_path):
    assert "The page is in both.html." in call("compare 1 2 --out both.html").out
    page = (tmp_path / "both.html").read_text()
    assert page.count("<table>") == 2
    assert "10.0 ± 0.0 points below" in page


MISTAKES = [
    ("1", "a comparison needs at least 2 results, got 1"),
    ("1 1", "result 1 is named twice"),
    ("1 9", "no result has the number 9"),
    ("1 nothing", "no result here has the number, the tag or the method 'nothing'"),
    ("1 base", "base may be any of the results 1, 2, 3, 4"),
    ("1 4", "has the seeds 0, 1 and 4 (base, ε = 8) the seeds 10, 11"),
    ("1 2 --out x.pdf", "x.pdf has the unsupported format .pdf: use .html with --out"),
    ("1 2 --out nowhere/x.html", "nowhere is not a folder"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, store, monkeypatch, tmp_path):
    refuses(MISTAKES, "compare")
    store.add(result(1.0, data_options={"users": 300}))
    refuses([("1 5", "only results of the same graph with the same split can be paired")], "compare")
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "other"))
    refuses([("1 2", "no run has left a result")], "compare")
