"""What every mechanism promises: whole reports enumerated, losses that add up, controls, fingerprints, estimates."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from graphveil.audit.reports import CountedBits
from graphveil.channels.exact import Claim
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import Estimate, Mechanism, mechanism
from tests.mechanisms.support import (
    ALL_VALUES,
    BIASED,
    CURATED,
    DEGREES,
    EVERYTHING,
    SAMPLED,
    check_counts_as,
    grid_rows,
    largest_ratio,
    loss_ratio,
    private,
    same_answers,
    small,
)
from tests.together import together

PURE = [name for name in [*ALL_VALUES, *SAMPLED] if "gaussian" not in name]
ENUMERATED = [name for name in EVERYTHING if name != "privunit"]
SYMBOLS = ["krr", "esw"]
ROWS = [name for name in EVERYTHING if name not in SYMBOLS]
HOLDERS = {
    "an array": np.asarray,
    "integers": lambda held: held.astype(np.int8),
    "single precision": lambda held: held.astype(np.float32),
    "objects": lambda held: held.astype(object),
    "lists": np.ndarray.tolist,
    "a sparse matrix": sp.csr_array,
}
# Whatever somebody may hold in place of a number of the public range.
ODD = [-7, 99, 0.3, 1e300, -1e300, np.nan, np.inf, -np.inf, 10**400, None, "a", 1j]


def rows_of(found: Mechanism):
    """Every input on a small grid that could be told apart best, extremes included."""
    if found.subject == "links":
        return [np.array(row) for row in product((0, 1), repeat=found.shape.dimensions)]
    if found.subject != "features":
        return list(range(4)) if found.subject == "label" else list(range(1, 5))
    if found.name.endswith("item"):
        return [
            np.array(row)
            for row in product((0, 1), repeat=found.shape.dimensions)
            if sum(row) <= found.length
        ]
    return [*found.extremes(), *grid_rows(found)]


@pytest.mark.parametrize("name", [*PURE, "item", "krr", "esw", "link-rr"])
def test_the_largest_ratio_of_one_answer_is_the_loss(name):
    found = small(name, epsilon=1.5, dims=1)
    assert largest_ratio(found, rows_of(found)) == loss_ratio(found)


@together(
    ("name", "settings"),
    [
        *((name, {"epsilon": 1.5, "dims": 2, "sampled": 1}) for name in SAMPLED),
        *(
            (name, {"epsilon": 3.0, "dims": dims, "sampled": sampled})
            for name in ("multibit", "duchi", "three-output", "onebit")
            for dims, sampled in [(2, 2), (3, 2), (4, 3)]
        ),
        ("featurerr", {"epsilon": 3.0, "dims": 3, "bins": 4, "shares": [1, 2, 0]}),
    ],
)
def test_the_losses_of_several_answers_add_up_exactly(name, settings):
    """Asking for one of two neither adds nor saves."""
    found = small(name, **settings)
    assert largest_ratio(found, rows_of(found)) == loss_ratio(found)


@together("name", ENUMERATED)
def test_whole_reports_of_the_control_are_the_same_for_everybody(name):
    found = small(name, dims=1)
    assert all(sum(counts.tolist()) == total for counts, total in map(found.joint_counts, rows_of(found)))
    first, *others = (found.blind().joint_counts(row)[0].tolist() for row in rows_of(found))
    assert all(table == first for table in others)


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_claim_holds_and_is_nearly_used_up(name):
    found = small(name, epsilon=0.7)
    assert found.holds
    assert found.epsilon <= 0.7
    assert found.delta <= found.claim.delta
    if found.claim.delta == 0:
        assert found.epsilon > 0.7 * (1 - 1e-9)


@together("name", EVERYTHING)
def test_the_control_gives_nothing_away(name):
    control = small(name).blind()
    assert (control.epsilon, control.delta, control.holds) == (0.0, 0.0, True)
    assert (control.claim.epsilon, control.name) == (0, f"blind {name}")


@together("name", EVERYTHING)
def test_the_control_sends_what_the_mechanism_sends(name):
    found = small(name)
    real, control = (one.randomize(private(name), SeededBits(3)) for one in (found, found.blind()))
    assert real.codes.dtype == control.codes.dtype
    assert found.shape.uneven or real.codes.size == control.codes.size
    assert (real.dims is None and control.dims is None) or np.array_equal(real.dims, control.dims)


@together("name", EVERYTHING)
def test_bias_and_being_finite_are_declared(name):
    found = small(name)
    assert found.unbiased == (name not in BIASED)
    assert found.finite == (name != "privunit") == bool(found.answers)


@together("name", EVERYTHING)
def test_the_same_settings_give_the_same_fingerprint_and_another_claim_another(name):
    first, second = small(name), small(name)
    assert first.fingerprint == second.fingerprint
    assert len(bytes.fromhex(first.fingerprint)) == 32
    assert replace(first, claim=Claim(9.0)).fingerprint != first.fingerprint


def test_whatever_decides_a_report_changes_the_fingerprint():
    found = [
        *(small(name) for name in EVERYTHING),
        *(small(name).blind() for name in EVERYTHING),
        *(small(name, epsilon=0.5) for name in EVERYTHING),
        *(small(name, dims=4) for name in EVERYTHING if name not in ("krr", "esw")),
        small("multibit", sampled=2),
        small("multibit", range=(0, 2)),
        small("piecewise", binary=True),
        small("analytic-gaussian", delta=1e-4),
        small("featurerr", shares=[1, 2, 3]),
        small("featurerr", shares=[3, 2, 1]),
        small("featurerr", debiased=True),
        small("item", length=1),
        small("krr", classes=5),
        small("esw", levels=5),
        mechanism("privunit", epsilon=1.0, dims=3, radius=1.0),
        mechanism("privunit", epsilon=1.0, dims=3, radius=1.5),
    ]
    assert len({one.fingerprint for one in found}) == len(found)


@together(
    ("found", "words"),
    [
        (
            small("multibit"),
            "FeatureMechanism(multibit, epsilon=1, 1 of 3 values, Channel(onebit, epsilon=1, 2 -> 2) each)",
        ),
        (
            mechanism("privunit", epsilon=2, dims=5, radius=2),
            "PrivUnitMechanism(privunit, epsilon=2, 5 values in the ball of radius 2 around 0)",
        ),
        (small("item", dims=50, length=5), "ItemMechanism(item, epsilon=1, 1 of 5 from 50 items)"),
        (
            small("krr", classes=3),
            "LabelMechanism(krr, epsilon=1, KaryChannel(kary(3), epsilon=1, 3 -> 3))",
        ),
    ],
)
def test_repr_says_what_is_answered(found, words):
    assert repr(found) == words


@together("name", EVERYTHING)
def test_a_seed_decides_the_reports_and_the_operating_system_serves_a_client(name):
    found, held = small(name), private(name, 40)
    first = found.randomize(held, SeededBits(1))
    assert found.randomize(held, SeededBits(1)) == first
    assert found.randomize(held, SeededBits(2)) != first
    assert found.randomize(held) != found.randomize(held)


# Whatever is held is answered


def with_odd(name, odd):
    """What four users may hold, but for one value of the second: objects."""
    held = private(name).astype(object)
    held[1 if name in SYMBOLS else (1, 2)] = odd
    return held


@pytest.mark.parametrize("name", EVERYTHING)
def test_everybody_answers_whatever_they_hold_and_nobody_else_s_answer_depends_on_it(name):
    found = small(name)
    usual = found.randomize(private(name), SeededBits(3))
    for odd in ODD:
        held = with_odd(name, odd)
        reports = found.randomize(held, SeededBits(3))
        reports.check()
        assert reports.users == found.count(held) == 4
        assert found.shape.uneven or set(reports.lengths.tolist()) == {found.shape.length}
        for user in (0, 2, 3):
            assert usual.row(user).codes.tolist() == reports.row(user).codes.tolist(), odd
    for held in found.extremes():
        assert found.randomize(np.array([held]), SeededBits(0)).users == 1
    nobody = private(name)[:0]
    assert (found.count(nobody), found.altered(nobody), found.randomize(nobody).users) == (0, 0, 0)


# A curator, who sees everything, takes words by what there is to publish.
@together("name", [name for name in EVERYTHING if name not in CURATED])
def test_as_many_words_are_taken_whatever_is_held(name):
    found, taken = small(name), set()
    for held in (private(name), *(with_odd(name, odd) for odd in ODD)):
        random_bits = CountedBits(5)
        found.randomize(held, random_bits)
        taken.add(random_bits.taken)
    assert len(taken) == 1


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_control_answers_whatever_is_held_like_anything_else(name):
    control, held = small(name).blind(), private(name)
    assert same_answers(control, held, held[::-1])
    for odd in ODD:
        assert same_answers(control, held, with_odd(name, odd)), odd


@together("odd", [np.nan, np.inf, -np.inf, None, "a", -7, 99])
@pytest.mark.parametrize("name", [name for name in EVERYTHING if name not in ("link-rr", *DEGREES)])
def test_whoever_holds_an_odd_value_is_counted_as_altered(name, odd):
    assert small(name).altered(with_odd(name, odd)) == 1


@together("holder", HOLDERS)
@pytest.mark.parametrize("name", EVERYTHING)
def test_what_fits_is_counted_and_not_altered_whatever_holds_it(name, holder):
    if name in SYMBOLS and holder == "a sparse matrix":
        return
    found, held = small(name), HOLDERS[holder](private(name))
    assert found.count(held) == 4
    check_counts_as(found, held, private(name), 0)


@together(
    "wrong", [np.zeros(3), np.zeros((2, 4)), np.zeros((1, 2, 3)), 1.0, [[0, 1, 0], [1]], sp.csr_array((2, 4))]
)
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_wrong_shape_are_refused(name, wrong):
    found = small(name)
    for attempt in (found.randomize, found.count):
        with pytest.raises(InputError, match="users x 3 values, got the shape|must form a rectangle"):
            attempt(wrong)


# Estimates: a sparse matrix plus a constant


def test_the_offset_is_everywhere_and_scipy_gets_the_sparse_part_alone():
    indptr, indices, values = np.array([0, 1, 3]), np.array([2, 0, 1], dtype=np.int32), np.array([5.0, 6, 7])
    some = Estimate((2, 3), indptr, indices, values, 0.5, True)
    assert some.dense().tolist() == [[0.5, 0.5, 5.5], [6.5, 7.5, 0.5]]
    assert some.to_scipy().toarray().tolist() == [[0, 0, 5], [6, 7, 0]]
    assert repr(some) == "Estimate(2 x 3, 3 entries, unbiased)"
    # Rows that report everything need no indices.
    estimate = Estimate((2, 2), np.array([0, 2, 4]), None, np.array([1.0, 2, 3, 4]), 1.0, False)
    assert estimate.dense().tolist() == [[2, 3], [4, 5]]
    assert estimate.to_scipy().toarray().tolist() == [[1, 2], [3, 4]]


@together("name", EVERYTHING)
def test_both_forms_agree_for_every_mechanism(name):
    found = small(name)
    estimate = found.randomize(private(name), SeededBits(0)).estimate()
    assert estimate.shape == (4, found.shape.dimensions)
    assert estimate.unbiased == found.unbiased
    assert np.allclose(estimate.to_scipy().toarray() + estimate.offset, estimate.dense(), rtol=1e-12)


@pytest.mark.parametrize("name", ["multibit", "onebit"])
def test_the_first_dimensions_are_those_of_the_whole(name: str) -> None:
    built = mechanism(name, epsilon=4.0, dims=9, range=(-1, 1))
    rows = np.random.default_rng(0).uniform(-1, 1, (20, 9))
    whole = built.estimate(built.randomize(rows, SeededBits(1)))
    for count in (1, 4, 9, 20):
        part = whole.first(count)
        assert np.array_equal(part.dense(), whole.dense()[:, :count])
        assert part.indptr[-1] == len(part.values)


def test_too_many_reports_are_not_enumerated():
    with pytest.raises(InputError, match="onebit has too many reports to enumerate: take fewer dimensions"):
        mechanism("onebit", epsilon=1.0, dims=100, range=(0, 1)).possible_reports()
