"""Values that are tried in one case: all are tried, and each that fails is named."""

import pytest

from tests.together import together


@together("value", [1, pytest.param(2, id="two"), 3, 4])
def one_and_three(value, tmp_path):
    if value == 4:
        with pytest.raises(ValueError):
            pass
    assert value in (1, 3)


def test_all_values_are_tried_and_each_that_fails_is_named(tmp_path):
    with pytest.raises(
        pytest.fail.Exception, match="2 of 4 fail:\ntwo: AssertionError.*\n(.*\n)*4: Failed: DID NOT"
    ):
        one_and_three(tmp_path=tmp_path)


@together(("second", "third"), [(1, 2), (3, 4)], ids=["low", "high"])
def sums(first, second, third):
    first.append(second + third)


@pytest.mark.parametrize("first", [[], [1]])
def test_other_arguments_are_the_same_for_all_values(first):
    before = list(first)
    sums(first=first)
    assert first == [*before, 3, 7]


def test_a_name_that_the_test_does_not_take_is_refused():
    with pytest.raises(AssertionError, match="does not take"):
        together("other", [1])(lambda value: None)


def test_no_values_are_a_mistake():
    with pytest.raises(AssertionError, match="there are no values"):
        together("number", [])
