"""Kept results: which are meant, in which order, and what names lead to."""

from graphveil.experiments.results import (
    Selection,
    StoredResult,
    check_tag,
    find_result,
    sort_results,
    with_numbers,
)
from tests.refusals import check_refused


def kept(number, method="base", tags=(), gain=None, **fields):
    """A result of an experiment of its own, unless its fields are those of another."""
    told = {"data": "town", "runs": (0.5, 0.6), "mean": 0.55, "epsilon": 1.0, "spec": {}, **fields}
    gain = None if gain is None else {"mean": gain}
    return StoredResult.model_validate(
        {**told, "number": number, "method": method, "gain": gain, "tags": tags}
    )


def numbers(chosen):
    return [each.number for each in chosen]


SEVERAL = [
    kept(1, "base", epsilon=1.0, gain=0.1, mean=0.5, time="2026-01-02"),
    kept(2, "lpgnn", ["good"], epsilon=2.0, gain=0.3, mean=0.7, time="2026-01-01", data="cora"),
    kept(3, "nonprivate", ["good", "raw"], epsilon=None, mean=0.9, time="2026-01-03"),
    kept(4, "lpgnn", epsilon=4.0, gain=-0.2, mean=0.6, time=None, mechanism="onebit", task="link"),
]

SELECTED = [
    ({}, [1, 2, 3, 4]),
    ({"method": ("lpgnn",)}, [2, 4]),
    ({"method": ("lpgnn", "base")}, [1, 2, 4]),
    ({"data": ("cora",)}, [2]),
    ({"task": ("link",)}, [4]),
    ({"mechanism": ("onebit",)}, [4]),
    ({"epsilon": (1.0, 4.0)}, [1, 4]),
    ({"tag": ("good",)}, [2, 3]),
    ({"tag": ("raw", "good"), "method": ("lpgnn",)}, [2]),
    ({"backbone": ("gcn",)}, []),
]


def test_all_of_several_fields_and_any_of_several_values_select():
    found = [(given, numbers(Selection(**given).of(SEVERAL))) for given, _ in SELECTED]
    assert found == SELECTED
    assert numbers(with_numbers(SEVERAL, [3, 1])) == [1, 3]


TWICE = [kept(1, tags=["old"], mean=0.4), kept(2, mean=0.5), kept(3, "lpgnn")]


def test_an_earlier_result_of_an_experiment_is_meant_only_if_something_says_so():
    expected = [({}, [2, 3]), ({"earlier": True}, [1, 2, 3]), ({"tag": ("old",)}, [1])]
    assert [(given, numbers(Selection(**given).of(TWICE))) for given, _ in expected] == expected


def test_why_nothing_fits_is_told():
    expected = [
        ({"method": ("bse",)}, "no result has the method bse: there are base, lpgnn, nonprivate"),
        ({"epsilon": (3.0,)}, "no result has the epsilon 3: there are 1, 2, 4"),
        ({"tag": ("goood",)}, "no result has the tag goood: there are good, raw"),
        ({"method": ("base",), "data": ("cora",)}, ""),
    ]
    assert [(given, Selection(**given).missing(SEVERAL)) for given, _ in expected] == expected
    # It is known whether everything is meant.
    expected = [({}, False), ({"earlier": True}, False), ({"epsilon": (1.0,)}, True)]
    assert [(given, bool(Selection(**given).filters)) for given, _ in expected] == expected


SORTED = [
    ("number", [1, 2, 3, 4], [4, 3, 2, 1]),
    ("date", [3, 1, 2, 4], [2, 1, 3, 4]),
    ("mean", [3, 2, 4, 1], [1, 4, 2, 3]),
    ("gain", [2, 1, 4, 3], [4, 1, 2, 3]),
    ("epsilon", [1, 2, 4, 3], [4, 2, 1, 3]),
    ("method", [1, 2, 4, 3], [3, 2, 4, 1]),
]


def test_results_are_sorted_and_what_has_no_value_comes_last():
    found = [
        (by, numbers(sort_results(SEVERAL, by)), numbers(sort_results(SEVERAL, by, backwards=True)))
        for by, *_ in SORTED
    ]
    assert found == SORTED


def test_a_tag_is_a_name_and_nothing_that_could_be_taken_for_a_number_an_option_or_a_method():
    names = ["good", "Table-3", "v1.2_final", "été"]
    assert [check_tag(name, SEVERAL) for name in names] == names
    names = ("", "7", "7up", "-x", "two words", "a" * 65, "_x", "a/b")
    wrong = [(name, "a tag has letters, digits") for name in names]
    wrong.append(("lpgnn", "lpgnn is a method, so it cannot be a tag"))
    check_refused(lambda name: check_tag(name, SEVERAL), wrong)


FOUND = [
    ("2", {}, 2),
    ("raw", {}, 3),
    ("base", {}, 1),
    ("lpgnn", {"data": ("cora",)}, 2),
    ("good", {"data": ("cora",)}, 2),
    ("lpgnn", {"epsilon": (4.0,)}, 4),
]


def test_a_result_is_found_by_number_tag_or_method():
    found = [(name, among, find_result(name, SEVERAL, Selection(**among)).number) for name, among, _ in FOUND]
    assert found == FOUND
    # A tag finds an earlier result, and a method the last.
    assert find_result("old", TWICE, Selection()).number == 1
    assert find_result("base", TWICE, Selection()).number == 2


def test_a_name_that_leads_to_no_one_result_is_refused():
    wrong = [
        ("lpgnn", "lpgnn may be any of the results 2, 4: name one by its number"),
        ("upgnet", "'upgnet': there are base, good, lpgnn, nonprivate, raw"),
    ]
    check_refused(lambda name: find_result(name, SEVERAL, Selection()), wrong)
    nine = "no result has the number 9: `graphveil results` lists them"
    check_refused(lambda asked: with_numbers(SEVERAL, asked), [([1, 9], nine)])
    check_refused(lambda by: sort_results(SEVERAL, by), [("size", "no order is named 'size'")])
