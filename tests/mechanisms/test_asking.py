"""Which values are asked: exact chances, draws that follow them, and estimates that stay unbiased whatever the pool."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from graphveil.audit.check import mechanism_checks
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import Reports, mechanism
from graphveil.mechanisms.features import Asking
from graphveil.mechanisms.rows import choose_dimensions
from graphveil.privacy import Plan
from graphveil.suites import run_checks
from tests.mechanisms.support import check_drawn_mean, exact_mean
from tests.together import together

# d, m, pool, from_pool: printed TOGL, less than the pool, fractions, m = 1, more than the rest can take.
CASES = [
    (5, 2, (1,), 1.0),
    (5, 3, (0, 4), 2.0),
    (5, 2, (1, 2, 3), 1.0),
    (5, 2, (1, 2, 3), 1.3),
    (5, 1, (0, 3), 0.7),
    (4, 3, (0, 1, 2), 2.25),
    (4, 2, (1, 2), 0.1),
]


@st.composite
def askings(draw):
    """Any asking of up to seven values."""
    size = draw(st.integers(1, 7))
    count = draw(st.integers(1, size))
    pool = draw(st.lists(st.integers(0, size - 1), unique=True))
    least, most = max(0, count - (size - len(pool))), min(count, len(pool))
    return Asking.of(size, count, pool, draw(st.floats(least, most)))


@given(askings())
def test_weights_of_subsets_add_up_and_give_the_chance_of_each_value(asking):
    subsets, weights, total = asking.subsets()
    assert sum(weights) == total and min(weights) > 0
    assert len(set(subsets)) == len(subsets) == asking.choices
    assert all(len(subset) == asking.count for subset in subsets)
    taken = sum(number * chance for number, chance in asking.takes.items())
    for place in range(asking.size):
        exact = Fraction(sum(w for subset, w in zip(subsets, weights, strict=True) if place in subset), total)
        inside = place in asking.pool
        among = len(asking.pool) if inside else asking.size - len(asking.pool)
        assert exact == (taken if inside else asking.count - taken) / among
        assert asking.inclusion[place] == pytest.approx(float(exact), rel=1e-12)


@given(askings())
def test_every_value_that_can_be_asked_counts_as_much_as_it_is_rare(asking):
    asked = asking.inclusion > 0
    np.testing.assert_allclose((asking.inclusion * asking.factors)[asked], asking.count / asking.size)
    assert (asking.factors[~asked] == 0).all() and asking.everything == asked.all()
    assert asking.inclusion.sum() == pytest.approx(asking.count)
    square = sum(asking.inclusion * asking.factors**2) / asking.count
    assert asking.mean_square_factor == pytest.approx(square)


@given(askings(), st.integers(0, 3))
def test_draws_are_ascending_and_allowed(asking, seed):
    drawn = asking.choose(50, SeededBits(seed))
    assert drawn.shape == (50, asking.count) and drawn.dtype == np.int32
    assert (np.diff(drawn, axis=1) > 0).all() and drawn.min() >= 0 and drawn.max() < asking.size
    assert asking.allows(drawn)
    possible = set(asking.subsets()[0])
    assert all(tuple(row) in possible for row in drawn.tolist())


@pytest.mark.statistical
@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_follow_the_weights(case):
    """60,000 draws; chi-square over all subsets at 1e-9 each, seed fixed."""
    asking = Asking(*case)
    subsets, weights, total = asking.subsets()
    places = {subset: place for place, subset in enumerate(subsets)}
    drawn = asking.choose(60_000, SeededBits(17))
    seen = np.bincount([places[tuple(row)] for row in drawn.tolist()], minlength=len(subsets))
    expected = np.array([float(Fraction(weight, total)) for weight in weights]) * 60_000
    assert len(subsets) == 1 or chisquare(seen, expected).pvalue > 1e-9


def test_draws_by_hand():
    # Fixed values are scaled by 1 and drawn ones by what is left.
    d, m, fixed = 20, 5, (2, 7, 11)
    asking = Asking.of(d, m, fixed)
    assert asking.from_pool == 3.0 and asking.takes == {3: 1}
    scales = d / m * asking.factors
    np.testing.assert_allclose(scales[list(fixed)], 1)
    np.testing.assert_allclose(np.delete(scales, fixed), (d - 3) / (m - 3))
    drawn = asking.choose(200, SeededBits(0))
    assert (np.isin(drawn, fixed).sum(axis=1) == 3).all()
    # A fraction is rounded down or up at random.
    asking = Asking.of(10, 4, [1, 2, 3], 1.25)
    assert asking.takes == {1: Fraction(3, 4), 2: Fraction(1, 4)}
    taken = np.isin(asking.choose(500, SeededBits(1)), [1, 2, 3]).sum(axis=1)
    assert set(taken.tolist()) == {1, 2}
    asking = Asking.of(10, 1, [2, 5], 0.7)
    np.testing.assert_allclose(asking.inclusion[[2, 5, 0]], [0.35, 0.35, 0.3 / 8])
    inside = int(np.isin(asking.choose(40_000, SeededBits(3)), [2, 5]).sum())
    # Six standard errors: a false alarm of 2e-9.
    assert abs(inside - 28_000) < 6 * math.sqrt(40_000 * 0.7 * 0.3)
    # Without a pool the draw is the usual one.
    for asking in (Asking(9, 3), Asking.of(9, 3), Asking.of(9, 3, [], 0)):
        assert asking.even and asking.everything and asking.mean_square_factor == 1
        np.testing.assert_array_equal(
            asking.choose(30, SeededBits(5)), choose_dimensions(30, 9, 3, SeededBits(5))
        )


@pytest.mark.parametrize(("pool", "from_pool"), [((1, 2, 3), 2.0), ((1, 2), 0.0)])
def test_values_that_are_never_asked_are_not_estimated(pool, from_pool):
    assert not Asking(6, 2, pool, from_pool).everything
    found = asked_of("multibit", pool=list(pool), from_pool=from_pool)
    assert not found.unbiased
    assert not found.randomize(np.ones((3, 6)), SeededBits(0)).estimate().unbiased


MORE = {"multibit": {}, "ppm": {"levels": 3}}


def asked_of(name, dims=6, sampled=2, **pool):
    return mechanism(name, epsilon=2.0, dims=dims, range=(0, 1), sampled=sampled, **MORE[name], **pool)


def held_for(name, rows):
    """These rows, with a level each where there are some."""
    return rows if name == "multibit" else np.column_stack([rows, 1 + np.arange(len(rows)) % 3])


@together(
    ("pool", "from_pool", "words"),
    [
        ([1, 1], 1.0, "different dimensions below 6"),
        ([1, 6], 1.0, "different dimensions below 6"),
        ([-1], 1.0, "different dimensions below 6"),
        ([1, 2, 3], 2.5, "from_pool must lie in 0..2"),
        ([1], 1.5, "from_pool must lie in 0..1"),
        ([1], -0.1, "from_pool must lie in 0..1"),
        ([0, 1, 2, 3, 4], 0.5, "from_pool must lie in 1..2"),
        ([1, 2, 3], None, "from_pool must lie in 0..2"),
        ([], 1.0, "from_pool must lie in 0..0"),
        (None, 1.0, "give the pool too"),
        *(([1], wrong, "from_pool must be a finite number") for wrong in (True, math.nan, math.inf, "1")),
        *((wrong, 1.0, "a list of dimensions") for wrong in ([True], [1.0], "12", 3)),
    ],
)
def test_pools_that_make_no_sense_are_refused(pool, from_pool, words):
    given_pool = {} if pool is None else {"pool": pool}
    for name in MORE:
        with pytest.raises(InputError, match=words):
            asked_of(name, from_pool=from_pool, **given_pool)


def test_a_pool_that_does_not_fit_a_mechanism_is_refused():
    for count in (0, 6):
        with pytest.raises(InputError, match="sampled must lie in 1..5"):
            Asking(5, count)
    for name in MORE:
        with pytest.raises(InputError, match="favoured must be about 2 of 6 values"):
            replace(asked_of(name), favoured=Asking(6, 3, (1,), 1.0))


# Estimates


@together("case", CASES)
@pytest.mark.parametrize("name", ["multibit", "duchi", "three-output"])
def test_the_mean_over_every_report_is_the_row_whatever_the_pool(name, case):
    d, m, pool, from_pool = case
    found = mechanism(
        name, epsilon=3.0, dims=d, range=(-3, 5), sampled=m, pool=list(pool), from_pool=from_pool
    )
    assert found.unbiased
    for row in (np.full(d, 5.0), np.where(np.arange(d) % 2, -3.0, 5.0)):
        assert exact_mean(found, row) == pytest.approx(row.tolist(), abs=1e-9)


@pytest.mark.parametrize("name", ["piecewise", "square-wave", "condensed"])
def test_the_mean_is_the_row_for_large_alphabets(name):
    found = mechanism(name, epsilon=2.0, dims=3, range=(-3, 5), sampled=1, points=5, pool=[1], from_pool=0.6)
    row = np.array([5.0, -3.0, 1.0])
    assert exact_mean(found, row) == pytest.approx(row.tolist(), abs=1e-9)


def test_the_mean_of_levels_is_as_without_a_pool():
    settings = {"epsilon": 2.0, "dims": 4, "range": (0, 1), "levels": 2, "sampled": 2}
    plain = mechanism("ppm", **settings)
    pooled = mechanism("ppm", **settings, pool=[1, 3], from_pool=1.5)
    for level in (1.0, 2.0):
        row = np.array([1.0, 0.0, 0.0, 1.0, level])
        assert exact_mean(pooled, row) == pytest.approx(exact_mean(plain, row), abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["piecewise", "square-wave", "condensed", "multibit", "hybrid"])
def test_drawn_estimates_have_the_row_as_their_mean(name):
    """20,000 users with the same row; five means, z-tests at 1e-6 in all, seed fixed."""
    found = mechanism(name, epsilon=5.0, dims=5, range=(0, 1), sampled=2, pool=[1, 2, 4], from_pool=1.6)
    check_drawn_mean(found, [0.0, 0.37, 0.71, 1.0, 0.5], 20_000, 11)


def builder(name, pool, from_pool, kind=None, **fixed):
    """A function that builds a mechanism with a pool, at any size that the suite asks for; it may ask in a faulty way."""

    def build(epsilon, dims, range, sampled=2, points=None):
        inside = [place for place in pool if place < dims]
        least, most = max(0, sampled - (dims - len(inside))), max(0, min(sampled, len(inside)))
        settings = {"pool": inside, "from_pool": min(max(from_pool, least), most), **fixed}
        if points is not None:
            settings["points"] = points
        built = mechanism(name, epsilon=epsilon, dims=dims, range=range, sampled=sampled, **settings)
        if kind is None:
            return built
        asking = built.asking
        return replace(built, favoured=kind(asking.size, asking.count, asking.pool, asking.from_pool))

    return build


POOLED = {
    "multibit, 1 of a pool of 1": builder("multibit", (1,), 1.0),
    "multibit, 0.4 of a pool of 3": builder("multibit", (0, 2, 5), 0.4),
    "multibit, 1.5 of a pool of 3": builder("multibit", (0, 1, 2), 1.5),
    "piecewise": builder("piecewise", (0, 2), 0.7),
    "square-wave": builder("square-wave", (1, 2), 1.5),
    "condensed": builder("condensed", (1,), 0.5),
    "ppm": builder("ppm", (0, 2), 1.5, levels=3),
}


@lru_cache
def suite(build):
    """The checks of a mechanism with a pool, by name."""
    return {check.name: check for check in mechanism_checks(build, epsilons=[2.0])}


# An audit takes seconds: tests/slow has those of the others.
AUDITED = "multibit, 1.5 of a pool of 3"


@pytest.mark.statistical  # a false alarm in a million, as tests/audit/test_check.py has it
@pytest.mark.parametrize("name", POOLED)
def test_pooled_mechanisms_pass_the_suite(name):
    checks = suite(POOLED[name]).values()
    run_checks(name, [one for one in checks if name == AUDITED or not one.name.startswith("the audit")])


class Unweighed(Asking):
    """The fault: every answer counts the same."""

    factors = property(lambda self: np.ones(self.size))
    mean_square_factor = 1.0


class Skewed(Asking):
    """The fault: the draw does not follow the chances that are stated."""

    def choose(self, users, random_bits):
        return Asking(self.size, self.count).choose(users, random_bits)

    def allows(self, dims):
        return True


@pytest.mark.parametrize(
    ("kind", "pool", "from_pool", "check", "words"),
    [
        (Unweighed, (1,), 1.0, "its mean is exact at epsilon 2", "biased"),
        (Skewed, (0, 1), 1.6, "drawn estimates have the right mean at epsilon 2", "off by"),
    ],
)
def test_forgotten_factors_and_a_draw_that_ignores_the_pool_are_seen(kind, pool, from_pool, check, words):
    with pytest.raises(AssertionError, match=words):
        suite(builder("multibit", pool, from_pool, kind))[check].run()


@pytest.mark.parametrize("name", MORE)
def test_reports_that_name_other_numbers_of_the_pool_are_refused(name):
    strict = asked_of(name, pool=[0, 1, 2], from_pool=1)
    good = strict.randomize(held_for(name, np.ones((1, 6))), SeededBits(0))
    rest = [6] * (good.dims.size - 2)

    def sent(named):
        return replace(good, dims=np.array([*named, *rest], dtype=np.int32))

    for named in ([0, 1], [3, 4]):
        with pytest.raises(MessageError, match="as many values of the pool as planned"):
            Reports.from_bytes(sent(named).to_bytes(), strict)
        with pytest.raises(MessageError, match="as many values of the pool as planned"):
            Reports.from_json(sent(named).to_json(), strict)
    assert Reports.from_bytes(sent([1, 5]).to_bytes(), strict) == sent([1, 5])


@pytest.mark.parametrize("name", MORE)
def test_plans_with_a_pool_survive_json(name):
    options = {"pool": [3, 1, 8], "from_pool": 1.3}
    settings = {"epsilon": 2.0, "dims": 12, "range": (0, 1), "sampled": 2, "round": 2, **MORE[name]}
    plan = Plan(mechanism=name, **settings, options=options)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    built = again.build()
    assert built.fingerprint == plan.build().fingerprint
    assert built.asking == Asking(12, 2, (1, 3, 8), 1.3)


def test_the_pool_is_part_of_the_fingerprint():
    pools = [{}, {"pool": [1]}, {"pool": [2]}, {"pool": [1], "from_pool": 0.5}]
    assert len({asked_of("multibit", **pool).fingerprint for pool in pools}) == 4


@pytest.mark.parametrize("name", MORE)
def test_the_size_of_a_report_does_not_depend_on_what_was_drawn(name):
    rows = held_for(name, np.random.default_rng(0).integers(0, 2, (40, 300)).astype(float))
    found = [asked_of(name, 300, 3, **pool) for pool in ({}, {"pool": [0, 1, 299], "from_pool": 1.5})]
    sizes = {
        len(one.randomize(rows[user : user + 1], SeededBits(user)).to_bytes())
        for one in found
        for user in range(40)
    }
    assert len(sizes) == 1


def test_spread_and_largest_are_those_of_the_estimates():
    found = mechanism("multibit", epsilon=3.0, dims=5, range=(-1, 1), sampled=2, pool=[1, 2], from_pool=1.4)
    rows = np.where(np.arange(5) % 2, 1.0, -1.0)
    counts, total = found.joint_counts(rows)
    squares = found.estimate(found.possible_reports()).dense() ** 2
    chances = np.array([float(Fraction(count, total)) for count in counts])
    assert (chances @ squares).sum() == pytest.approx(found.spread**2 * found.shape.length)
    assert np.sqrt(squares.max()) == pytest.approx(found.largest)
