"""Kept results: which are meant, in which order, and what names lead to."""

import pytest

from graphveil.errors import InputError
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


def test_a_number_that_no_result_has_is_refused():
    with pytest.raises(InputError, match="no result has the number 9: `graphveil results` lists them"):
        with_numbers(SEVERAL, [1, 9])
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


def test_it_is_known_whether_everything_is_meant():
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


def test_an_order_that_there_is_not_is_refused():
    with pytest.raises(InputError, match="no order is named 'size'"):
        sort_results(SEVERAL, "size")


def test_a_tag_is_a_name():
    names = ["good", "Table-3", "v1.2_final", "été"]
    assert [check_tag(name, SEVERAL) for name in names] == names


def test_what_could_be_taken_for_a_number_or_an_option_is_no_tag():
    names = ("", "7", "7up", "-x", "two words", "a" * 65, "_x", "a/b")
    words = "a tag has letters, digits"
    check_refused(lambda name: check_tag(name, SEVERAL), [(name, words) for name in names])


def test_a_method_is_no_tag():
    with pytest.raises(InputError, match="lpgnn is a method, so it cannot be a tag"):
        check_tag("lpgnn", SEVERAL)


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


def test_a_tag_finds_an_earlier_result_and_a_method_the_last():
    assert find_result("old", TWICE, Selection()).number == 1
    assert find_result("base", TWICE, Selection()).number == 2


def test_a_name_of_several_results_is_refused_with_their_numbers():
    with pytest.raises(InputError, match="lpgnn may be any of the results 2, 4: name one by its number"):
        find_result("lpgnn", SEVERAL, Selection())


def test_a_name_of_nothing_is_refused_with_what_there_is():
    with pytest.raises(InputError, match="'upgnet': there are base, good, lpgnn, nonprivate, raw"):
        find_result("upgnet", SEVERAL, Selection())
