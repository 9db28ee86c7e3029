"""Claims that depend on the two inputs are audited pair by pair."""

from dataclasses import fields, replace

import numpy as np
import pytest

from graphveil.audit import audit
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.tables import (
    describe_size,
    joint_step,
    kind_of,
    pairs_step,
    personal_cause,
    tables_step,
)
from graphveil.channels import TOTAL, Channel, Claim, SeededBits, onebit
from graphveil.channels.exact import Loss
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism


def _binary(keep, claim, kind=Channel):
    table = np.array([[keep, TOTAL - keep], [TOTAL - keep, keep]])
    return kind("bit", table, np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), Claim(claim))


def _features(channel, claim, count):
    return FeatureMechanism("test", Claim(claim), PublicRange(0, 1), count, count, (channel,), 1.0)


def test_a_table_within_its_claim_has_no_leak():
    assert tables_step(mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1)), 1.0).leaks == ()


def test_exact_epsilon_is_printed_and_rounded_up():
    channel = _binary(3 * TOTAL // 4, 1.1)
    assert "epsilon 1.09861228866811 (1 x bit" in tables_step(_features(channel, 1.1, 1), 1.1).seen


def test_the_leak_names_output_inputs_and_ratio():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.0), 1.0, 1), 1.0).leaks
    assert "output 0 of bit has probability 0.75 under input 0 (-1) and 0.25 under input 1 (1)" in leak
    assert "a ratio of e^1.09861229 = 3" in leak


def test_answers_that_keep_their_own_claim_but_not_the_sum():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.1), 1.1, 3), 1.1).leaks
    assert "the budget is not divided" in leak


def test_a_channel_that_understates_itself_is_found():
    class Modest(Channel):
        @property
        def loss(self):
            return Loss(())

    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.0, Modest), 1.0, 1), 1.0).leaks
    assert "its table has 1.09861228866811" in leak


def test_a_row_that_does_not_sum_to_one_is_found():
    class Short(Channel):
        def row(self, symbol):
            return [count // 2 for count in super().row(symbol)]

    leaks = tables_step(_features(_binary(3 * TOTAL // 4, 2.0, Short), 2.0, 1), 2.0).leaks
    assert any("row 0 of bit does not sum to 1" in leak for leak in leaks)


@pytest.mark.parametrize("name", ["gaussian", "analytic-gaussian"])
def test_delta_is_told(name):
    assert "and 1e-05" in tables_step(mechanism(name, epsilon=1.0, dims=4, range=(0, 1)), 1.0).seen


def test_what_has_no_table_says_so():
    assert (
        "no finite table" in tables_step(mechanism("privunit", epsilon=1.0, dims=4, range=(0, 1)), 1.0).seen
    )


def test_a_claim_above_what_was_asked_for_is_found():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.1), 1.1, 1), 1.0).leaks
    assert "it was asked for epsilon 1 and claims 1.1" in leak


def test_budgets_that_a_stranger_names_hide_no_claim():
    class Discounted(FeatureMechanism):
        budgets = (0.5, 1.1)

    found = Discounted(
        "discounted", Claim(1.1), PublicRange(0, 1), 1, 1, (_binary(3 * TOTAL // 4, 1.1),), 1.0
    )
    assert "it was asked for epsilon 1 and claims 1.1" in tables_step(found, 1.0).leaks[0]


def test_a_finite_mechanism_without_channels_is_found():
    class Silent(FeatureMechanism):
        answers = ()

    silent = Silent("silent", Claim(1.0), PublicRange(0, 1), 1, 1, (_binary(TOTAL, 1.0),), 1.0)
    (leak,) = tables_step(silent, 1.0).leaks
    assert "it names no channels" in leak


def _two_bits(claim, each, kind=FeatureMechanism):
    return JointDistribution.of(kind("two bits", Claim(claim), PublicRange(0, 1), 3, 2, (onebit(each),), 1.5))


def test_budgets_that_add_up_are_told():
    step = joint_step(_two_bits(1.0, 0.5), finite=True)
    assert step.leaks == ()
    assert step.seen == (
        "2 of 3 values, 12 different reports, 3 inputs: the largest ratio is e^1 = 2.71829, claimed e^1"
    )


def test_budgets_that_do_not_add_up_name_report_inputs_and_ratio():
    (leak,) = joint_step(_two_bits(1.0, 1.0), finite=True).leaks
    assert leak == (
        "with 2 of 3 values, the report (dimension 0 = code 0, dimension 1 = code 0) is e^2 = 7.38906 times as likely "
        "under [0, 0, 0] as under [1, 1, 1]; the claim allows e^1 = 2.71829"
    )


def test_a_stated_loss_below_the_enumerated_one_is_found():
    class Modest(FeatureMechanism):
        @property
        def loss(self):
            return self.channels[0].loss

    leaks = joint_step(_two_bits(2.0, 1.0, Modest), finite=True).leaks
    assert any("the stated loss is wrong" in leak for leak in leaks)


@pytest.mark.parametrize(
    ("finite", "words"), [(True, "too many different reports"), (False, "a documented exception")]
)
def test_what_is_not_enumerated_is_left_out_and_says_why(finite, words):
    step = joint_step(None, finite)
    assert step.skipped
    assert step.leaks == ()
    assert words in step.seen


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("multibit", {"dims": 9, "range": (0, 1)}, "1 of 9 values"),
        ("onebit", {"dims": 9, "range": (0, 1)}, "all 9 values"),
        ("item", {"dims": 9, "length": 2}, "a row of 9 values"),
        ("krr", {"classes": 3}, "one label"),
        ("link-rr", {"dims": 3}, "lists of 3 users"),
        ("lapgraph", {"dims": 3}, "graphs of 3 cells"),
    ],
)
def test_size_is_said_in_words(name, settings, words):
    assert describe_size(mechanism(name, epsilon=1.0, **settings)) == words


@pytest.fixture(scope="module")
def small():
    return mechanism("ppm", epsilon=0.5, dims=2, range=(0, 1), levels=3)


def test_the_audit_says_what_every_level_and_the_level_itself_get():
    found = audit("ppm", epsilon=0.5, quick=True, random_bits=SeededBits(1))
    assert found.holds
    assert (found.claimed.epsilon, found.exact.epsilon <= 4.0) == (4.0, True)
    told = " ".join(found.protects)
    for budget in (0.5, 1, 2, 4):
        assert f"budget {budget:g})" in told
    assert "The level itself, of users with equal rows: any report is at most e^3.0758" in told
    assert "at most the larger budget of the two" in told
    assert "says no more than the randomized level does" in told
    assert not any(step.skipped or step.failed for step in found.steps)


def test_pairs_are_of_three_kinds(small):
    joint = JointDistribution.of(small)
    kinds = {kind_of(joint.inputs[one], joint.inputs[other]) for one, other in joint.ordered_pairs()}
    assert kinds == {"one level", "different levels", "equal rows of different levels"}
    step = pairs_step(joint, "a size")
    assert step.leaks == ()
    assert "equal rows of different levels e^1.189" in step.seen


def test_a_budget_that_is_not_kept_is_found_for_its_pair_alone(small):
    # Level 1 claims less than its answers spend; the largest budget still holds for everybody.
    strict = replace(small, budgets=(0.3, 1.0, 2.0))
    step = pairs_step(JointDistribution.of(strict), "a size")
    assert len(step.leaks) == 1
    assert step.leaks[0].startswith(
        "values are not protected at the level's budget: with a size, the report ("
    )
    assert "under level 1 with" in step.leaks[0]
    (cause,) = personal_cause(strict)
    assert cause.startswith(
        "values are not protected at the level's budget: the exact epsilon between rows of level 1"
    )
    assert cause.endswith("is 0.449999999999591, claimed 0.3")
    assert not strict.holds


def test_a_loss_that_is_stated_too_small_is_found(small):
    class Modest(type(small)):
        def pair_loss(self, one, other, equal_rows=False):
            return super().pair_loss(1, 1)

    modest = Modest(**{name: getattr(small, name) for name in (field.name for field in fields(small))})
    step = pairs_step(JointDistribution.of(modest), "a size")
    assert any("the stated loss is wrong" in leak for leak in step.leaks)


def test_a_mechanism_that_is_built_already_is_audited_as_it_is():
    built = mechanism("ppm", epsilon=2.0, dims=2, range=(-1, 1), budgets=[2.0, 3.0], gamma=0.3)
    found = audit(built, quick=True, random_bits=SeededBits(1))
    assert "it was asked for" not in " ".join(found.leaks)
    assert found.holds
