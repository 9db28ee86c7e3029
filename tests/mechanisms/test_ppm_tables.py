"""The channels of all ways of answering as one table."""

import numpy as np
import pytest

from graphveil.channels import SeededWords, kary, onebit
from graphveil.channels.exact import Claim
from graphveil.mechanisms.ppm_answers import AnswerTable, Way

# Two levels and two randomized ones; at this budget one bit is all but never flipped.
SURE = 20.0
STRICT, LOOSE = onebit(SURE), onebit(SURE - 1)
WAYS = ((Way(1, STRICT), Way(2, STRICT)), (Way(1, LOOSE, 2), Way(2, LOOSE, 2)))


def table(binary=True):
    return AnswerTable(WAYS, Claim(SURE), binary)


def test_answers_are_counted_by_level_and_randomized_level():
    assert table().counts.tolist() == [[1, 2], [1, 2]]


def test_a_blank_comes_after_all_codes():
    assert table().blank == 4


@pytest.mark.parametrize("binary", [True, False])
def test_each_value_is_answered_by_the_channel_of_its_level(binary):
    values = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    named = np.array([0, 1], dtype=np.uint8)
    codes = table(binary).respond(values, np.array([0, 1]), named, SeededWords(0))
    assert codes.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("binary", [True, False])
def test_codes_of_a_user_do_not_depend_on_the_levels_of_others(binary):
    weak = (onebit(0.5), onebit(1.0))
    answers = AnswerTable(tuple((Way(2, channel),) for channel in weak), Claim(1.0), binary)
    values, named = np.full((50, 2), 0.25 if not binary else 1.0), np.zeros(50, dtype=np.uint8)
    others = np.random.default_rng(0).integers(0, 2, 50)
    others[7] = 1
    alone, among = (
        answers.respond(values, levels, named, SeededWords(3))[7] for levels in (np.ones(50, int), others)
    )
    assert alone.tolist() == among.tolist()


def test_rows_that_are_alike_are_held_once():
    same = AnswerTable(((Way(1, STRICT), Way(2, STRICT)),) * 2, Claim(SURE), True)
    assert same._channel.input_count == STRICT.input_count


def test_other_alphabets_stand_side_by_side():
    three = kary(1.0, 3)
    mixed = AnswerTable(((Way(1, STRICT),), (Way(1, three, 2),)), Claim(SURE), True)
    assert mixed.blank == 5 and mixed._channel.row(2)[:2] == [0, 0]
