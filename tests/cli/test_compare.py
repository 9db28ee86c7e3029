import json

import pytest

from graphveil.cli import status
from graphveil.experiments import ResultStore
from graphveil.experiments.store import RESULTS
from tests.cli.support import not_refused
from tests.experiments.test_records import result


@pytest.fixture(autouse=True)
def store(own_folder):
    store = ResultStore(own_folder / "cache" / RESULTS)
    for epsilon, score in ((1.0, 0.5), (2.0, 0.6), (4.0, 0.4)):
        store.add(result(epsilon, score=score))
    store.add(result(8.0, seed=10))
    store.tag([2], add=["good"])
    return store


def test_two_results_are_compared_by_number_and_tag(capsys):
    assert status(["compare", "1", "good"]) == 0
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if "-10.0" in line]
    # All runs differ by 10 points.
    assert (
        row.split()[:2] == ["1", "(base,"] and "2 (base, ε = 2)" in row and "10.0 ± 0.0 points below" in row
    )
    assert "Holm" not in out
    assert "paired two-sided t-test" in out


def test_a_method_is_narrowed_by_its_budget(capsys):
    assert status(["compare", "base", "good", "--epsilon", "4", "--json"]) == 2
    assert status(["compare", "base", "2", "--epsilon", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["number"] for each in told["results"]] == [3, 2]
    (pair,) = told["comparisons"]
    assert (pair["first"], pair["second"], pair["seeds"], pair["p_holm"]) == (3, 2, [0, 1], None)
    assert pair["difference"]["mean"] == pytest.approx(-0.2)


def test_three_results_are_three_comparisons_corrected_in_words(capsys):
    assert status(["compare", "1", "2", "3"]) == 0
    out = capsys.readouterr().out
    assert "p after Holm" in out
    assert "There are 3 comparisons" in out


def test_a_page_has_both_views(capsys, tmp_path):
    assert status(["compare", "1", "2", "--out", "both.html"]) == 0
    assert "The page is in both.html." in capsys.readouterr().out
    page = (tmp_path / "both.html").read_text()
    assert page.count("<table>") == 2
    assert "10.0 ± 0.0 points below" in page


MISTAKES = [
    (["1"], "a comparison needs at least 2 results, got 1"),
    (["1", "1"], "result 1 is named twice"),
    (["1", "9"], "no result has the number 9"),
    (["1", "nothing"], "no result here has the number, the tag or the method 'nothing'"),
    (["1", "base"], "base may be any of the results 1, 2, 3, 4"),
    (["1", "4"], "has the seeds 0, 1 and 4 (base, ε = 8) the seeds 10, 11"),
    (["1", "2", "--out", "x.pdf"], "x.pdf has the unsupported format .pdf: use .html with --out"),
    (["1", "2", "--out", "nowhere/x.html"], "nowhere is not a folder"),
]


def test_a_mistake_exits_with_2_and_one_line(capsys):
    assert not_refused([(["compare", *words], said) for words, said in MISTAKES], capsys) == []


def test_other_data_are_refused(capsys, store):
    store.add(result(1.0, data_options={"users": 300}))
    assert status(["compare", "1", "5"]) == 2
    assert "only results of the same graph with the same split can be paired" in capsys.readouterr().err


def test_an_empty_store_says_what_to_do(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "other"))
    assert status(["compare", "1", "2"]) == 2
    assert "no run has left a result" in capsys.readouterr().err


def test_help_shows_an_example(capsys):
    assert status(["compare", "--help"]) == 0
    assert "Example: graphveil compare base upgnet --data cora" in capsys.readouterr().out
