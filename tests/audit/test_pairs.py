"""Claims that depend on the two inputs are audited pair by pair."""

from dataclasses import fields, replace

import pytest

from graphveil.audit import audit
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.exact_loss import kind_of, pairs_step, personal_cause
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism


@pytest.fixture(scope="module")
def small():
    return mechanism("ppm", epsilon=0.5, dims=2, range=(0, 1), levels=3)


def test_the_audit_says_what_every_level_and_the_level_itself_get():
    found = audit("ppm", epsilon=0.5, quick=True, words=SeededWords(1))
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
    kinds = {kind_of(small, joint.inputs[one], joint.inputs[other]) for one, other in joint.ordered_pairs()}
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
    found = audit(built, quick=True, words=SeededWords(1))
    assert "it was asked for" not in " ".join(found.leaks)
    assert found.holds
