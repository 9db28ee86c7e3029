import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit import audit, examine
from graphveil.audit.candidate import Candidate
from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.audit.findings import Deadline, Step, Title
from graphveil.channels import Claim, SeededBits, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism
from graphveil.privacy.plan import Plan
from tests.audits import leave_out_draws

KEYS = ["name", "claimed", "exact", "finite", "holds", "not_covered", "protects", "leaks", "trusts"]
KEYS += ["finished", "covers"]


def _good(epsilon, dims, range, sampled=2):
    return FeatureMechanism(
        "good",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon / sampled),),
        dims / sampled,
    )


@pytest.fixture(scope="module")
def sound():
    return audit("multibit", epsilon=1.0, dims=20, sampled=4, quick=True, random_bits=SeededBits(2))


def test_a_sound_mechanism_holds(sound):
    assert sound.holds
    assert sound.leaks == []
    assert sound.claimed == StatedPrivacy(1.0, 0.0)
    assert 1 - 1e-9 < sound.exact.epsilon <= 1.0


def test_json_has_the_agreed_fields(sound):
    fields = json.loads(sound.to_json())
    assert list(fields) == KEYS
    assert list(fields["claimed"]) == list(fields["exact"]) == ["epsilon", "delta"]
    assert fields["holds"] is True
    assert fields["exact"]["epsilon"] == sound.exact.epsilon
    assert isinstance(fields["protects"], list)


def test_what_is_protected_is_said_with_its_exact_epsilon(sound):
    assert "4 of 20 values" in sound.protects[0]
    assert "(exact epsilon 1, rounded up)" in sound.protects[0]
    assert any("without looking at them" in sentence for sentence in sound.protects)


def test_all_steps_were_taken(sound):
    assert [step.title for step in sound.steps] == [
        "exact epsilon of the tables",
        "whole reports, enumerated",
        "behaviour seen from outside",
        "the control is blind",
        "the sampler draws the tables",
        "every answer at full size",
        "many users in one call",
        "other paths, sizes and options",
        "a lower bound of epsilon from reports alone",
        "client and server apart",
    ]
    assert not any(step.skipped or step.failed for step in sound.steps)


def test_the_sizes_that_it_covers_are_said(sound):
    assert sound.covers.startswith("4 of 20 values at epsilon 1 in full; ")
    assert "numbers of users in one call from 1 to 262,147" in sound.covers
    assert "sizes from 1 to 1,000" in sound.covers and "budgets from epsilon 0.0" in sound.covers
    assert sound.covers.endswith("(quick: fewer sizes and draws than a full audit)")


def test_a_plan_is_audited_in_its_own_size_alone():
    plan = Plan(mechanism="onebit", epsilon=2.0, dims=5, range=(0, 1))
    found = audit(plan, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert found.covers.startswith("the plan's own size alone, all 5 values at epsilon 2 in full; ")
    assert "sizes from" not in found.covers and "budgets" not in found.covers


def test_a_step_that_does_not_finish_holds_nothing_and_leaks_nothing():
    ticks = itertools.count()
    # Every look at the clock takes a second: the last steps find no time left.
    late = Deadline(2000.0, lambda: float(next(ticks)))
    found = examine.examine(Candidate.of(_good), quick=True, random_bits=SeededBits(2), deadline=late)
    assert found.leaks == [] and not found.finished and not found.holds
    assert any("its time was over" in step.seen for step in found.steps if step.unfinished)
    assert "its time was over. Give the audit more (--minutes N)" in found.not_covered[1]
    assert not any("times as likely" in sentence for sentence in found.protects)


def test_an_infinite_epsilon_is_null_in_json():
    found = Audit("x", StatedPrivacy(1.0), StatedPrivacy(math.inf), [], ["epsilon is infinite"])
    assert json.loads(found.to_json())["exact"] == {"epsilon": None, "delta": 0.0}
    assert not found.holds


def test_delta_is_part_of_the_findings():
    found = audit("analytic-gaussian", epsilon=1.0, dims=4, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert found.claimed.delta == 1e-5
    assert 0.9e-5 < found.exact.delta <= 1e-5
    assert "but for a probability of 1e-05" in found.protects[0]


def test_a_function_of_ones_own_holds():
    found = audit(_good, epsilon=1.0, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert found.name == "good"


def test_a_built_mechanism_holds_and_is_not_built_again():
    built = mechanism("featurerr", epsilon=2.0, dims=3, range=(-5, 5), shares=[1, 2, 1], bins=5)
    found = audit(built, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert found.claimed.epsilon == 2.0


@pytest.fixture(scope="module")
def without_table():
    return audit("privunit", epsilon=1.0, dims=4, quick=True, random_bits=SeededBits(2))


def test_a_mechanism_that_is_not_finite_says_so_and_holds(without_table):
    assert without_table.holds
    skipped = [step for step in without_table.steps if step.skipped]
    assert len(skipped) == 1
    assert "a documented exception" in skipped[0].seen


def test_a_large_mechanism_is_audited_as_it_is():
    assert audit("multibit", epsilon=1.0, dims=1433, quick=True, random_bits=SeededBits(2)).holds


def test_a_claim_above_the_tables_tells_what_is_protected_instead():
    def build(epsilon, dims, range):
        channel = onebit(2 * epsilon / dims)
        return FeatureMechanism("twice", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0)

    found = audit(build, quick=True, random_bits=SeededBits(2))
    assert not found.holds
    assert "more than the claimed 1" in found.protects[0]


def test_whatever_a_mechanism_does_wrong_is_a_finding():
    class Careless(FeatureMechanism):
        def joint_counts(self, private):
            raise IndexError("out of range")

        def randomize(self, private, random_bits=None):
            if np.asarray(private).max() > 0.5:
                raise RuntimeError("no such value")
            return super().randomize(private, random_bits)

    def build(epsilon, dims, range):
        return Careless(
            "careless", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
        )

    found = audit(build, quick=True)
    assert not found.holds
    assert any("no such value" in leak for leak in found.leaks)
    assert any("out of range" in leak for leak in found.leaks)


def test_progress_is_told(monkeypatch):
    leave_out_draws(monkeypatch)
    told = []
    audit("krr", quick=True, progress=told.append)
    assert len(told) == 10


def test_the_same_words_give_the_same_findings():
    steps = [audit("multibit", dims=4, quick=True, random_bits=SeededBits(7)).steps for _ in range(2)]
    assert steps[0] == steps[1]


def test_what_is_not_covered_is_said(sound):
    assert any(sentence.startswith("Timing") for sentence in sound.not_covered)
    assert any("low entropy" in sentence for sentence in sound.not_covered)
    assert any("State between processes" in sentence for sentence in sound.not_covered)


def test_nothing_is_called_exact_where_there_is_no_table(without_table):
    said = [*without_table.protects, *without_table.leaks, *without_table.not_covered]
    said += [f"{step.title} {step.seen}" for step in without_table.steps]
    assert not without_table.finite
    assert not [sentence for sentence in said if "exact" in sentence]


def test_a_plan_is_audited_with_its_own_options():
    plan = Plan(
        mechanism="multibit",
        epsilon=2.0,
        dims=12,
        range=(-1, 3),
        sampled=3,
        binary=True,
        options={"pool": [2, 9], "from_pool": 1.5},
    )
    found = audit(plan, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert found.claimed.epsilon == 2.0
    assert "3 of 12 values" in found.protects[0]
    assert not any(step.skipped for step in found.steps)


def test_a_plan_says_its_own_budget():
    with pytest.raises(InputError, match="part of a plan"):
        audit(Plan(mechanism="krr", epsilon=1.0, classes=3), epsilon=2.0)


def test_overrides_that_are_computed_again_are_told():
    class Sure(FeatureMechanism):
        @property
        def holds(self):
            return True

    def build(epsilon, dims, range):
        channel = onebit(epsilon / dims)
        return Sure("sure", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0)

    found = audit(build, quick=True, random_bits=SeededBits(2))
    assert found.holds
    assert any("`holds` is not believed" in sentence for sentence in found.trusts)


def test_of_code_from_outside_it_is_said_first_that_an_audit_is_no_proof(monkeypatch):
    leave_out_draws(monkeypatch)
    found = audit(_good, quick=True)
    assert "evidence and not proof" in found.not_covered[0]
    assert "was tested, not proved" in found.protects[0]
    own = audit("krr", quick=True)
    assert not any("evidence" in sentence for sentence in [*own.not_covered, *own.protects])


def test_what_cannot_be_run_in_a_process_of_its_own_is_said(monkeypatch):
    leave_out_draws(monkeypatch)
    found = audit(lambda epsilon, dims, range: _good(epsilon, dims, range), quick=True)
    assert found.holds
    assert "could not be loaded in a process of its own" in found.not_covered[1]


def test_where_a_fault_was_found_no_more_draws_are_made(monkeypatch):
    draws = []

    def sampler(joint, number, words):
        draws.append(number)
        return Step(Title.SAMPLER, "", ("it is broken",))

    leave_out_draws(monkeypatch)
    monkeypatch.setattr(examine, "sampler_step", sampler)
    assert not audit("multibit", dims=4).holds
    assert draws == [examine.QUICK_DRAWS]
    monkeypatch.setattr(examine, "sampler_step", lambda *given: replace(sampler(*given), leaks=()))
    assert audit("multibit", dims=4).holds
    assert draws[1:] == [examine.QUICK_DRAWS, examine.DRAWS]
