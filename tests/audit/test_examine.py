import json
import math

import numpy as np
import pytest

from graphveil.audit import audit
from graphveil.audit.examine import Audit, Privacy
from graphveil.channels import Claim, SeededWords, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism
from graphveil.privacy.plan import Plan
from tests.audits import leave_out_draws

KEYS = ["name", "claimed", "exact", "finite", "holds", "protects", "leaks", "trusts", "not_covered"]


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
    return audit("multibit", epsilon=1.0, dims=20, sampled=4, quick=True, words=SeededWords(2))


def test_a_sound_mechanism_holds(sound):
    assert sound.holds
    assert sound.leaks == []
    assert sound.claimed == Privacy(1.0, 0.0)
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
        "the sampler draws the tables",
        "every answer at full size",
        "many users in one call",
        "other paths, sizes and options",
        "a lower bound of epsilon from reports alone",
    ]
    assert not any(step.skipped or step.failed for step in sound.steps)


def test_an_infinite_epsilon_is_null_in_json():
    found = Audit("x", Privacy(1.0), Privacy(math.inf), [], ["epsilon is infinite"])
    assert json.loads(found.to_json())["exact"] == {"epsilon": None, "delta": 0.0}
    assert not found.holds


def test_delta_is_part_of_the_findings():
    found = audit("analytic-gaussian", epsilon=1.0, dims=4, quick=True, words=SeededWords(2))
    assert found.holds
    assert found.claimed.delta == 1e-5
    assert 0.9e-5 < found.exact.delta <= 1e-5
    assert "but for a probability of 1e-05" in found.protects[0]


def test_a_function_of_ones_own_holds():
    found = audit(_good, epsilon=1.0, quick=True, words=SeededWords(2))
    assert found.holds
    assert found.name == "good"


def test_a_built_mechanism_holds_and_is_not_built_again():
    built = mechanism("featurerr", epsilon=2.0, dims=3, range=(-5, 5), shares=[1, 2, 1], bins=5)
    found = audit(built, quick=True, words=SeededWords(2))
    assert found.holds
    assert found.claimed.epsilon == 2.0


def test_a_mechanism_that_is_not_finite_says_so_and_holds():
    found = audit("privunit", epsilon=1.0, quick=True, words=SeededWords(2))
    assert found.holds
    skipped = [step for step in found.steps if step.skipped]
    assert len(skipped) == 1
    assert "a documented exception" in skipped[0].seen


def test_a_large_mechanism_is_audited_as_it_is():
    assert audit("multibit", epsilon=1.0, dims=1433, quick=True, words=SeededWords(2)).holds


def test_a_claim_above_the_tables_tells_what_is_protected_instead():
    def build(epsilon, dims, range):
        channel = onebit(2 * epsilon / dims)
        return FeatureMechanism("twice", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0)

    found = audit(build, quick=True, words=SeededWords(2))
    assert not found.holds
    assert "more than the claimed 1" in found.protects[0]


def test_whatever_a_mechanism_does_wrong_is_a_finding():
    class Careless(FeatureMechanism):
        def joint_counts(self, private):
            raise IndexError("out of range")

        def randomize(self, private, words=None):
            if np.asarray(private).max() > 0.5:
                raise RuntimeError("no such value")
            return super().randomize(private, words)

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
    assert len(told) == 8


def test_the_same_words_give_the_same_findings():
    steps = [audit("multibit", dims=4, quick=True, words=SeededWords(7)).steps for _ in range(2)]
    assert steps[0] == steps[1]


def test_what_is_not_covered_is_said(sound):
    assert any(sentence.startswith("Timing") for sentence in sound.not_covered)
    assert any("low entropy" in sentence for sentence in sound.not_covered)
    assert any("State between processes" in sentence for sentence in sound.not_covered)


def test_nothing_is_called_exact_where_there_is_no_table():
    found = audit("privunit", epsilon=1.0, dims=4, quick=True, words=SeededWords(2))
    said = [*found.protects, *found.leaks, *found.not_covered]
    said += [f"{step.title} {step.seen}" for step in found.steps]
    assert not found.finite
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
    found = audit(plan, quick=True, words=SeededWords(2))
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

    found = audit(build, quick=True, words=SeededWords(2))
    assert found.holds
    assert any("`holds` is not believed" in sentence for sentence in found.trusts)
