"""How users of each level answer, what answers count in an estimate, and what they reveal."""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphveil.channels import SeededBits, esw, kary, onebit
from graphveil.channels.channel import Channel
from graphveil.channels.exact import TOTAL, Claim
from graphveil.errors import MessageError
from graphveil.mechanisms import PersonalMechanism, PersonalRows, PublicRange, mechanism
from graphveil.mechanisms.personal_losses import Way, largest_variance
from tests.together import together

EQUAL = [0.5, 0.5]
SIZE, LEVELS, USERS = 6, 3, 5
# At this budget one bit is all but never flipped.
SURE = 20.0
STRICT, LOOSE = onebit(SURE), onebit(SURE - 1)


def of_ways(ways, quarters=((2, 2), (2, 2)), size=SIZE, binary=True):
    """Two levels, randomized to each of two with so many quarters of probability."""
    table = np.array(quarters, dtype=np.int64) * (TOTAL // 4)
    named = np.arange(1.0, table.shape[1] + 1)
    levels = Channel("levels", table, np.array([1.0, 2.0]), named, Claim(0.0))
    public = PublicRange(-1, 1)
    return PersonalMechanism("ppm", Claim(SURE), public, size, (1.0, SURE), levels, ways, binary=binary)


def two_levels(strict=1.0, loose=3.0):
    return of_ways(tuple((Way(1, onebit(epsilon)), Way(2, onebit(epsilon))) for epsilon in (strict, loose)))


@pytest.fixture(params=[True, False], ids=["binary", "rounded"])
def side_by_side(request):
    ways = ((Way(1, STRICT), Way(2, STRICT)), (Way(1, LOOSE, 2), Way(2, LOOSE, 2)))
    return of_ways(ways, binary=request.param)


def test_answers_are_counted_by_level_and_a_blank_comes_after_all_codes(side_by_side):
    assert side_by_side.counts.tolist() == [[1, 2], [1, 2]]
    assert side_by_side.blank == 4


def test_each_value_is_answered_by_the_channel_of_its_level(side_by_side):
    private = PersonalRows([1, 2], np.full((2, SIZE), 1.0))
    reports = side_by_side.randomize(private, SeededBits(0))
    codes = reports.codes.reshape(2, 3)[:, :2]
    assert set(codes[0].tolist()) <= {1, 4} and set(codes[1].tolist()) <= {3, 4}


@pytest.mark.parametrize("binary", [True, False])
def test_codes_of_a_user_do_not_depend_on_the_levels_of_others(binary):
    ways = tuple((Way(2, channel), Way(2, channel)) for channel in (onebit(0.5), onebit(1.0)))
    built = of_ways(ways, size=2, binary=binary)
    rows, others = np.full((50, 2), 0.25 if not binary else 1.0), np.random.default_rng(0).integers(1, 3, 50)
    others[7] = 2
    alone, among = (
        built.randomize(PersonalRows(levels, rows), SeededBits(3)).row(7).codes
        for levels in (np.full(50, 2), others)
    )
    assert alone.tolist() == among.tolist()


def test_other_alphabets_stand_side_by_side():
    mixed = of_ways(((Way(1, STRICT), Way(1, STRICT)), (Way(1, kary(1.0, 3), 2),) * 2))
    assert mixed.blank == 5
    codes = mixed.randomize(PersonalRows([2] * 50, np.full((50, SIZE), 1.0)), SeededBits(0)).codes
    assert set(codes.reshape(-1, 2)[:, 0].tolist()) <= {2, 3, 4}


@pytest.fixture(scope="module")
def sealed():
    return mechanism("ppm", epsilon=1.0, dims=4, range=(0, 1), levels=LEVELS, gamma=0.5)


def test_each_level_is_randomized_as_the_channel_has_it_and_posteriors_follow_bayes(sealed):
    channel = esw(0.5, LEVELS)
    expected = [[count / TOTAL for count in channel.row(level)] for level in range(LEVELS)]
    assert sealed.transition == pytest.approx(np.array(expected), rel=1e-12)
    outputs = sealed.level_channel.outputs
    assert outputs.min() < 1 and outputs.max() > LEVELS
    assert sealed.clamped.tolist() == [int(min(max(output, 1), LEVELS)) for output in outputs]
    first = sealed.transition[:, outputs <= 1].sum(axis=1)
    assert sealed.clamped_transition()[:, 0] == pytest.approx(first)
    shares = np.array([0.5, 0.3, 0.2])
    joint = shares[:, None] * sealed.transition
    assert sealed.posterior(shares) == pytest.approx((joint / joint.sum(axis=0)).T)


def test_a_sign_counts_by_the_mean_response_of_the_levels():
    response = (math.tanh(0.5) + math.tanh(1.5)) / 2
    table = two_levels().decoding(EQUAL)
    assert table[0] == pytest.approx([-SIZE / response, SIZE / response, 0.0])
    assert table[1] == pytest.approx(table[0] / 2)
    assert two_levels().decoding([0, 1])[0, 1] == pytest.approx(SIZE / math.tanh(1.5))
    table = of_ways(((Way(1, onebit(1.0)), Way(1, onebit(1.0), 2)),) * 2).decoding(EQUAL)
    assert table[0, 2:].tolist() == [0.0, 0.0, 0.0] and table[1, :2].tolist() == [0.0, 0.0]


def test_the_largest_variance_of_one_bit_is_at_the_middle_and_the_error_that_at_the_ends():
    response = (math.tanh(0.5) + math.tanh(1.5)) / 2
    assert two_levels().variances(EQUAL) == pytest.approx(np.array([SIZE, SIZE / 2]) / response**2)
    expected = (SIZE + SIZE / 2) / 2 / math.tanh(0.5) ** 2 - 1
    assert two_levels(1.0, 1.0).level_errors(EQUAL) == pytest.approx([expected, expected])


@pytest.mark.parametrize(
    ("squares", "largest"), [([2.0, 2.0], 2.0), ([1.0, 3.0], 2.25), ([1.0, 7.0], 6.0), ([7.0, 1.0], 6.0)]
)
def test_the_largest_variance_is_found_between_the_inputs(squares, largest):
    assert largest_variance(np.array([-1.0, 1.0]), np.array(squares)) == pytest.approx(largest)


# Both levels answer as many values beside each of three randomized levels.
BLANK = 2
FORM = tuple((Way(1, channel), Way(1, channel), Way(2, channel)) for channel in (onebit(1.0), onebit(2.0)))


def sent(codes, dims=4):
    """Reports of everybody with these codes."""
    built = of_ways(FORM, ((1, 1, 2), (1, 2, 1)), size=dims)
    drawn = built.randomize(PersonalRows(np.ones(USERS, int), np.zeros((USERS, dims))), SeededBits(0))
    drawn.codes[:] = np.tile(codes, USERS)
    return drawn


def test_as_many_answers_as_the_level_says_pass_with_the_level_at_the_end():
    for codes in ([0, BLANK, 0], [BLANK, 1, 1], [0, 1, 2]):
        sent(codes).check()
    # Where all values are named, dimensions count up.
    assert sent([0, 1, 2], dims=2).estimate().indices.tolist() == [0, 1] * USERS
    reports = sent([0, BLANK, 1])
    reports.dims[-3:] = [0, 1, 3]
    with pytest.raises(MessageError, match="must end with its level, at place 4"):
        reports.check()


@together(
    ("codes", "words"),
    [
        ([0, 1, 0], "must answer as many values as its level says"),
        ([0, BLANK, 2], "must answer as many values as its level says"),
        ([0, 3, 0], "codes must be below 3"),
    ],
)
def test_what_nobody_can_have_sent_is_refused(codes, words):
    with pytest.raises(MessageError, match=words):
        sent(codes).check()


@together(
    ("channel", "ways", "quarters", "codes", "words"),
    [
        (kary(1.0, 5), 2, (2, 2), [0, 2], "codes of levels must be below 2"),
        (onebit(1.0), 4, (1, 1, 1, 1), [3, 0], "codes of values must be at most 2, which is a blank"),
    ],
)
def test_codes_of_levels_and_of_values_have_ends_of_their_own(channel, ways, quarters, codes, words):
    built = of_ways(((Way(1, channel),) * ways,) * 2, (quarters,) * 2)
    reports = built.randomize(PersonalRows([1], np.zeros((1, SIZE))), SeededBits(0))
    reports.codes[:] = codes
    with pytest.raises(MessageError, match=words):
        reports.check()


def losses(quarters=((1, 3), (3, 1)), counts=(1, 1)):
    ways = tuple(tuple(Way(count, onebit(epsilon)) for count in counts) for epsilon in (1.0, 2.0))
    return of_ways(ways, quarters)


def test_rows_of_one_level_are_told_apart_by_their_answers_alone():
    assert losses().pair_loss(1, 1, True).epsilon == 0.0
    for level, count in ((1, 1), (2, 1), (2, 3)):
        loss = losses(counts=(count, count)).pair_loss(level, level)
        assert loss.epsilon == pytest.approx(count * level, rel=1e-9)


def test_levels_are_told_apart_by_the_level_s_answer_too():
    answer = max(
        Fraction(often, rarely) for often, rarely in zip(onebit(2.0).row(1), onebit(1.0).row(0), strict=True)
    )
    assert losses().pair_loss(2, 1).epsilon == pytest.approx(math.log(3 * answer), rel=1e-9)
    assert losses(((0, 4), (3, 1))).pair_loss(2, 1, True).terms is None
