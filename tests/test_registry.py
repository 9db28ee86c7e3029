import pytest

from graphveil.errors import InputError, UnknownNameError
from graphveil.registry import Registry


def fruit():
    return Registry[int]("fruit", {"apple": 1, "pear": 2})


def test_it_is_a_mapping_in_the_order_of_adding():
    basket = fruit()
    basket.add("fig", 3)
    assert list(basket.items()) == [("apple", 1), ("pear", 2), ("fig", 3)]
    assert len(basket) == 3 and "fig" in basket and basket["fig"] == 3


def test_a_name_is_given_once():
    with pytest.raises(InputError, match="a fruit named 'pear' is registered already"):
        fruit().add("pear", 9)


def test_an_unknown_name_lists_all_and_suggests_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"no fruit is named 'aple': choose one of apple, pear; did you mean 'apple'\?"
    ):
        fruit().find("aple")
    with pytest.raises(UnknownNameError, match="choose one of apple, pear$"):
        fruit().find("zebra")


def test_what_was_removed_is_unknown():
    basket = fruit()
    basket.remove("pear")
    with pytest.raises(UnknownNameError):
        basket.find("pear")
    with pytest.raises(UnknownNameError):
        basket.remove("pear")
