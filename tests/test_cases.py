"""Cases of one test: every one is tried, and all that fail are named."""

import inspect

import pytest

from tests.cases import together


def test_all_that_fail_are_named_and_none_is_left_out():
    tried = []

    @together("number", range(5))
    def test(number):
        tried.append(number)
        if number == 1:
            raise ValueError("one")
        if number == 3:
            with pytest.raises(ValueError):
                pass
        assert number != 4

    with pytest.raises(AssertionError) as failure:
        test()
    assert tried == [0, 1, 2, 3, 4]
    first, *others = str(failure.value).split("\n")
    assert first == "3 of 5 failed:"
    starts = ("1: ValueError: one", "3: Failed: DID NOT RAISE", "4: AssertionError")
    assert all(any(line.startswith(start) for line in others) for start in starts)


def test_other_names_are_left_to_pytest():
    @pytest.mark.parametrize("other", [7])
    @together(("one", "two"), [(1, 2), (3, 4)])
    def test(other, one, two, tmp_path):
        assert (other, two - one, tmp_path) == (7, 1, "folder")

    assert list(inspect.signature(test).parameters) == ["other", "tmp_path"]
    assert [mark.args[0] for mark in test.pytestmark] == ["other"]
    test(other=7, tmp_path="folder")


def test_no_cases_are_a_mistake():
    with pytest.raises(AssertionError, match="nothing to try"):
        together("number", [])
