"""What a report of a personal mechanism looks like as it travels."""

import numpy as np
import pytest

from graphveil.channels import SeededWords
from graphveil.errors import MessageError
from graphveil.mechanisms import PersonalRows, mechanism
from graphveil.mechanisms.features import Asking
from graphveil.mechanisms.ppm_answers import ReportForm

USERS, BLANK, LEVEL_CODES = 5, 2, 3
# Two levels, both of which answer as many values beside each of three randomized levels.
COUNTS = np.array([[1, 1, 2], [1, 1, 2]])


def form(dims):
    return ReportForm("ppm", Asking(dims, 2), BLANK, LEVEL_CODES, COUNTS)


def reports(dims, codes):
    """Reports of a mechanism that names two values, with other codes."""
    built = mechanism("ppm", epsilon=2.0, dims=dims, range=(0, 1), levels=2, sampled=2)
    drawn = built.randomize(PersonalRows(np.ones(USERS, int), np.zeros((USERS, dims))), SeededWords(0))
    drawn.codes[:] = np.tile(codes, USERS)
    return drawn


def test_codes_have_a_row_a_user_with_the_level_last():
    assert form(4).codes(reports(4, [0, BLANK, 1])).tolist() == [[0, BLANK, 1]] * USERS


def test_dimensions_are_those_that_are_named():
    sent = reports(4, [0, BLANK, 1])
    assert form(4).dims(sent).ravel().tolist() == sent.dims.reshape(USERS, 3)[:, :2].ravel().tolist()


def test_where_all_values_are_named_dimensions_count_up():
    sent = reports(2, [0, BLANK, 1])
    assert sent.dims is None and form(2).dims(sent).tolist() == [[0, 1]] * USERS


@pytest.mark.parametrize("codes", [[0, BLANK, 0], [BLANK, 1, 1], [0, 1, 2]])
def test_as_many_answers_as_the_level_says_pass(codes):
    form(4).check(reports(4, codes))


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([0, BLANK, 3], "codes of levels must be below 3"),
        ([0, 3, 0], "codes of values must be at most 2, which is a blank"),
        ([0, 1, 0], "must answer as many values as its level says"),
        ([0, BLANK, 2], "must answer as many values as its level says"),
    ],
)
def test_what_nobody_can_have_sent_is_refused(codes, words):
    with pytest.raises(MessageError, match=words):
        form(4).check(reports(4, codes))


def test_a_level_in_another_place_is_refused():
    sent = reports(4, [0, BLANK, 1])
    sent.dims[-1] = 0
    with pytest.raises(MessageError, match="must end with its level, at place 4"):
        form(4).check(sent)
