"""Sources of random words."""

import os

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphveil.channels import SeededBits, SystemBits
from graphveil.channels.sampling import DrawnBits
from graphveil.errors import InputError
from tests.channels.reference import GivenWords
from tests.together import together

WORDS = 1 << 64


def test_system_words_refuse_a_seed_and_any_other_setting():
    for call in (lambda: SystemBits(seed=1), lambda: SystemBits(1)):
        with pytest.raises(InputError, match="takes no seed.*SeededBits"):
            call()
    with pytest.raises(InputError, match="takes no stream"):
        SystemBits(stream=1)


def test_system_words_are_the_bytes_of_the_operating_system(monkeypatch):
    # Two equal blocks of 256 bits: never.
    assert SystemBits().take(4).tolist() != SystemBits().take(4).tolist()
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    words = SystemBits().take(2)
    assert words.tobytes() == bytes(range(16))
    words >>= np.uint64(63)  # they may be written over
    assert words.max() <= 1


def test_seeded_words_repeat_however_they_are_taken():
    assert SeededBits(7, 1).take(5).tolist() == SeededBits(7, 1).take(5).tolist()
    assert SeededBits(np.int64(7)).take(2).tolist() == SeededBits(7).take(2).tolist()
    # Results that are printed with a seed stay what they are.
    assert SeededBits(0).take(2).tolist() == [259491006799949737, 4754966410622352325]
    whole, parts = SeededBits(7), SeededBits(7)
    assert whole.take(7).tolist() == parts.take(3).tolist() + parts.take(4).tolist()
    assert (repr(SeededBits(3, 4)), repr(SystemBits())) == ("SeededBits(3, 4)", "SystemBits()")


@together("numbers", [(8,), (7, 0), (7, 1), (7, 0, 0), (7, 1, 0), (0, 7)])
def test_seeded_words_differ_between_seeds_and_streams(numbers):
    assert SeededBits(*numbers).take(4).tolist() != SeededBits(7).take(4).tolist()


@together("numbers", [(-1,), (1.0,), ("1",), (True,), (1, -1), (1, None)])
def test_seeded_words_refuse_what_is_no_seed(numbers):
    with pytest.raises(InputError, match="seed and stream must be integers of at least 0"):
        SeededBits(*numbers)


@given(st.integers(1, (1 << 63) - 1))
@example(1)
@example(4)
def test_below_takes_the_first_fair_word_modulo_the_bound(bound):
    """The last unfair word is drawn again; of a power of two there are none."""
    unfair = WORDS % bound
    assert GivenWords([unfair]).below(bound, 1).tolist() == [unfair % bound]
    words = [unfair - 1, WORDS - 1] if unfair else [WORDS - 1]
    assert GivenWords(words).below(bound, 1).tolist() == [(WORDS - 1) % bound]


def test_below_keeps_the_order_of_its_results():
    # The words of place 1 and 3 are unfair; the next two words are theirs, the first of which is unfair again.
    assert GivenWords([4, 0, 5, 0, 0, 7, 8]).below(3, 4).tolist() == [1, 2, 2, 1]
    assert GivenWords([9, 9, 9]).below(np.array([1, 2, 5]), 3).tolist() == [0, 1, 4]
    assert GivenWords([]).below(5, 0).tolist() == []
    words = DrawnBits(np.arange(5, dtype=np.uint64))
    assert [words.take(count).tolist() for count in (2, 0, 3)] == [[0, 1], [], [2, 3, 4]]


@together("bound", [0, -1, 2.5, "3", np.array([2, 0]), np.array([2, -1])])
def test_below_refuses_what_is_no_bound(bound):
    with pytest.raises(InputError, match="bound must be an integer of at least 1"):
        GivenWords([1, 2]).below(bound, 2)
