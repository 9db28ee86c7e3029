from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit.independence import AnswerBits, _halves, _pairs, _triples, dependent_answers
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism

CHANCE = np.random.default_rng(2)
BITS = CHANCE.integers(0, 2, (4000, 6)).astype(np.float32)


def _answers(bits):
    return AnswerBits(bits, None, np.arange(bits.shape[1]))


def test_independent_bits_are_left_alone():
    answers = _answers(BITS)
    assert _pairs(answers, "rows") is None
    assert _triples(answers, "rows") is None
    assert _halves(answers, "rows") is None


def test_a_pair_is_named():
    bits = BITS.copy()
    bits[:, 5] = bits[:, 2]
    assert "value 2 and value 5" in _pairs(_answers(bits), "rows")


def test_bits_that_were_all_asked_are_compared_alike():
    bits = BITS.copy()
    bits[:, 5] = bits[:, 2]
    asked = AnswerBits(bits, np.ones_like(bits), np.arange(6))
    assert _pairs(asked, "rows") == _pairs(_answers(bits), "rows")


def test_a_triple_is_named():
    bits = BITS.copy()
    bits[:, 4] = np.abs(bits[:, 0] - bits[:, 3])
    assert _pairs(_answers(bits), "rows") is None
    assert "although any two of them do not" in _triples(_answers(bits), "rows")


def test_halves_see_what_no_pair_shows():
    side = np.random.default_rng(3).random((4000, 1)) < 0.5
    chance = np.random.default_rng(4).random((4000, 200))
    bits = (chance < np.where(side, 0.53, 0.47)).astype(np.float32)
    assert "half of the values" in _halves(_answers(bits), "rows")


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
@pytest.mark.parametrize("sampled", [2, 3])
def test_values_that_were_not_asked_do_not_matter(sampled):
    built = mechanism("multibit", epsilon=2.0, dims=6, range=(0, 1), sampled=sampled)
    assert dependent_answers(built, built.public, 1 << 14, SeededWords(5)) == []


def test_reports_of_one_answer_have_nothing_to_compare():
    built = mechanism("multibit", epsilon=2.0, dims=6, range=(0, 1), sampled=1)
    assert dependent_answers(replace(built), built.public, 1 << 14, SeededWords(5)) == []
