"""Kept results as tables and pages."""

from graphveil.experiments.comparison import compare
from graphveil.experiments.report import comparison_page, results_page, results_table
from graphveil.experiments.result import StoredResult


def kept(number, tags=(), method="base", runs=(0.5, 0.6), **fields):
    told = {"data": "town", "mean": sum(runs) / len(runs), "time": "2026-01-02T03:04:05+00:00", **fields}
    told |= {"number": number, "tags": tags, "method": method, "runs": runs, "spec": {}}
    return StoredResult.model_validate(told)


SCORED = {"epsilon": 2.0, "low": 0.45, "high": 0.65, "control": {"mean": 0.5}, "structure": {"mean": 0.4}}
SCORED["gain"] = {"mean": 0.05, "low": 0.01, "high": 0.09}


def column(table, name):
    return [row[table.head.index(name)] for row in table.rows]


def test_a_row_has_interval_control_structure_and_gain():
    table = results_table([kept(3, **SCORED)])
    told = {"no.": "3", "mean": "55.0", "interval": "45.0 to 65.0", "control": "50.0", "structure": "40.0"}
    told["gain"] = "+5.0 ± 4.0"
    assert {name: column(table, name)[0] for name in told} == told
    assert column(table, "date") == ["2026-01-02"]


def test_columns_that_say_nothing_are_left_out():
    assert not {"tags", "task"} & set(results_table([kept(1), kept(2)]).head)
    table = results_table([kept(1, ("a", "b")), kept(2, task="link")])
    assert column(table, "tags") == ["a, b", "-"]
    assert column(table, "task") == ["node", "link"]


def test_a_page_has_the_number_of_a_result_beside_its_method():
    table = results_table([kept(3, **SCORED)], long=True)
    assert column(table, "result") == ["3 base"]
    assert table.head[0] == "result" and not {"no.", "method", "graph"} & set(table.head)


def test_a_page_has_a_table_for_each_graph_and_task():
    page = results_page([kept(1), kept(2, data="cora"), kept(3), kept(4, task="link")], "All & more")
    assert "<title>All &amp; more</title>" in page
    assert page.count("<table>") == 3
    assert ">town: accuracy, node</h2>" in page and ">cora: accuracy, node</h2>" in page
    assert "4 kept results." in page


def test_a_page_of_a_comparison_has_both_the_results_and_how_they_compare():
    comparison = compare([kept(1), kept(2, runs=(0.2, 0.4)), kept(3, ("a",), runs=(0.1, 0.6))])
    page = comparison_page(comparison, "Compared")
    assert page.count("<table>") == 2
    assert "3 kept results, 3 comparisons." in page
    assert page.index(">Comparison</h2>") < page.index(">town: accuracy, node</h2>")
    assert "p after Holm" in page
    assert "1 (base)" in page
    assert "http" not in page.partition("<body>")[2]
