"""A cache that many large things cannot fill."""

import pytest

from graphveil.channels.build import SizedCache


def numbers(count):
    return lambda: [0] * count


def test_what_was_used_last_is_held_as_far_as_it_fits():
    cache = SizedCache(10)
    first, second = (cache.get(key, numbers(5), len) for key in "ab")
    assert cache.get("a", numbers(5), len) is first
    cache.get("c", numbers(5), len)
    assert cache.get("a", numbers(5), len) is first and cache.size == 10
    assert cache.get("b", numbers(5), len) is not second


def test_what_is_too_large_is_made_each_time_and_pushes_nothing_out():
    cache = SizedCache(10)
    small = cache.get("small", numbers(1), len)
    assert cache.get("large", numbers(11), len) is not cache.get("large", numbers(11), len)
    assert cache.get("small", numbers(1), len) is small


def test_what_cannot_be_made_is_not_held():
    cache = SizedCache(10)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0, int)
    assert cache.get("a", numbers(3), len) == [0, 0, 0]
    cache.clear()
    assert cache.size == 0
