"""Sources of random words."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import SeededBits, SystemBits
from graphveil.channels.sampling import DrawnBits
from graphveil.errors import InputError
from tests.channels.reference import GivenWords

WORDS = 1 << 64


@pytest.mark.parametrize("call", [lambda: SystemBits(seed=1), lambda: SystemBits(1)])
def test_system_words_refuse_a_seed(call: object) -> None:
    with pytest.raises(InputError, match="takes no seed.*SeededBits"):
        call()


def test_system_words_name_any_other_setting_that_they_refuse() -> None:
    with pytest.raises(InputError, match="takes no stream"):
        SystemBits(stream=1)


def test_system_words_are_the_bytes_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    assert SystemBits().take(2).tobytes() == bytes(range(16))


def test_system_words_may_be_written_over() -> None:
    words = SystemBits().take(4)
    words >>= np.uint64(63)
    assert words.max() <= 1


def test_system_words_differ_between_calls() -> None:
    # Two equal blocks of 256 bits: never.
    assert SystemBits().take(4).tolist() != SystemBits().take(4).tolist()


def test_seeded_words_repeat() -> None:
    assert SeededBits(7, 1).take(5).tolist() == SeededBits(7, 1).take(5).tolist()


def test_seeded_words_do_not_depend_on_how_they_are_taken() -> None:
    whole, parts = SeededBits(7), SeededBits(7)
    assert whole.take(7).tolist() == parts.take(3).tolist() + parts.take(4).tolist()


@pytest.mark.parametrize("numbers", [(8,), (7, 0), (7, 1), (7, 0, 0), (7, 1, 0), (0, 7)])
def test_seeded_words_differ_between_seeds_and_streams(numbers: tuple[int, ...]) -> None:
    assert SeededBits(*numbers).take(4).tolist() != SeededBits(7).take(4).tolist()


def test_seeded_words_keep_their_values() -> None:
    # Results that are printed with a seed stay what they are.
    assert SeededBits(0).take(2).tolist() == [259491006799949737, 4754966410622352325]


@pytest.mark.parametrize("numbers", [(-1,), (1.0,), ("1",), (True,), (1, -1), (1, None)])
def test_seeded_words_refuse_what_is_no_seed(numbers: tuple[object, ...]) -> None:
    with pytest.raises(InputError, match="seed and stream must be integers of at least 0"):
        SeededBits(*numbers)


def test_seeded_words_accept_numpy_integers() -> None:
    assert SeededBits(np.int64(7)).take(2).tolist() == SeededBits(7).take(2).tolist()


def test_repr_says_which_seed_and_stream() -> None:
    assert (repr(SeededBits(3, 4)), repr(SystemBits())) == ("SeededBits(3, 4)", "SystemBits()")


@given(st.integers(1, (1 << 63) - 1))
def test_below_takes_the_first_fair_word_modulo_the_bound(bound: int) -> None:
    unfair = WORDS % bound
    assert GivenWords([unfair]).below(bound, 1).tolist() == [unfair % bound]


@given(st.integers(3, (1 << 63) - 1).filter(lambda bound: WORDS % bound))
def test_below_draws_the_last_unfair_word_again(bound: int) -> None:
    assert GivenWords([WORDS % bound - 1, WORDS - 1]).below(bound, 1).tolist() == [(WORDS - 1) % bound]


def test_below_keeps_the_order_of_its_results() -> None:
    # The words of place 1 and 3 are unfair; the next two words are theirs, the first of which is unfair again.
    assert GivenWords([4, 0, 5, 0, 0, 7, 8]).below(3, 4).tolist() == [1, 2, 2, 1]


def test_below_with_a_bound_for_each() -> None:
    assert GivenWords([9, 9, 9]).below(np.array([1, 2, 5]), 3).tolist() == [0, 1, 4]


def test_below_one_is_always_zero() -> None:
    assert GivenWords([0, WORDS - 1]).below(1, 2).tolist() == [0, 0]


def test_below_a_power_of_two_refuses_no_word() -> None:
    assert GivenWords([0, 1, WORDS - 1]).below(4, 3).tolist() == [0, 1, 3]


def test_below_nothing_takes_no_words() -> None:
    assert GivenWords([]).below(5, 0).tolist() == []


@pytest.mark.parametrize("bound", [0, -1, 2.5, "3", np.array([2, 0]), np.array([2, -1])])
def test_below_refuses_what_is_no_bound(bound: object) -> None:
    with pytest.raises(InputError, match="bound must be an integer of at least 1"):
        GivenWords([1, 2]).below(bound, 2)


def test_drawn_words_are_given_out_once_and_in_order() -> None:
    words = DrawnBits(np.arange(5, dtype=np.uint64))
    assert [words.take(count).tolist() for count in (2, 0, 3)] == [[0, 1], [], [2, 3, 4]]
