from fractions import Fraction

import numpy as np
import pytest

from graphveil.audit.candidate import Candidate
from graphveil.audit.enumeration import JointDistribution, between, enumerate_smaller
from graphveil.audit.inputs import distinct
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism, names

CURATED = ("lapgraph", "privhrg", "edgerr")
FINITE = [name for name in names() if name != "privunit"]


@pytest.mark.parametrize("name", FINITE)
def test_every_finite_mechanism_is_enumerable_at_a_small_size(name):
    assert enumerate_smaller(Candidate.of(name, 1.0)) is not None


# What a curator publishes does not show all of its answers: a noisy number, and noisy cells by their order alone. A link's loss is
# over the reports of both its ends, of which one has less: test_graphs.py takes both together.
ADDED_UP = [name for name in FINITE if "gaussian" not in name and name not in (*CURATED, "blink")]


@pytest.mark.parametrize("name", ADDED_UP)
def test_the_losses_of_the_answers_add_up_to_that_of_whole_reports(name):
    joint = enumerate_smaller(Candidate.of(name, 1.0))
    seen, stated = joint.worst.loss, joint.mechanism.loss
    assert seen.terms is None or not seen.exceeds(Fraction(stated.epsilon))
    assert seen.epsilon == pytest.approx(stated.epsilon, rel=1e-12)


@pytest.mark.parametrize("name", CURATED)
def test_what_a_curator_publishes_reveals_less_than_its_answers(name):
    joint = enumerate_smaller(Candidate.of(name, 1.0))
    assert 0.1 < joint.worst.loss.epsilon < joint.mechanism.loss.epsilon


@pytest.mark.parametrize("name", ["gaussian", "analytic-gaussian"])
def test_whole_reports_keep_delta(name):
    joint = enumerate_smaller(Candidate.of(name, 1.0))
    assert joint.delta_at(1.0)[0] <= Fraction(joint.mechanism.claim.delta)


def test_delta_of_a_pure_mechanism_is_the_hockey_stick_sum():
    joint = JointDistribution.of(mechanism("krr", epsilon=1.0, classes=2))
    often, rarely = joint.counts[0]
    assert joint.delta_at(0.0)[0] == Fraction(often - rarely, joint.total)


def test_the_worst_report_of_two_bits_is_both_bits():
    joint = JointDistribution.of(mechanism("multibit", epsilon=2.0, dims=3, range=(0, 1), sampled=2))
    assert joint.worst.loss.epsilon == pytest.approx(2.0, rel=1e-9)
    assert joint.mechanism.describe_outcome(joint.worst.place) == "dimension 0 = code 0, dimension 1 = code 0"


def test_a_mechanism_that_is_not_finite_is_not_enumerated():
    assert enumerate_smaller(Candidate.of("privunit", 1.0)) is None


def test_places_name_the_reports_that_were_drawn():
    joint = JointDistribution.of(mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1), sampled=2))
    users = np.zeros((50, 3))
    reports = joint.mechanism.randomize(users, SeededWords(5))
    for user, place in enumerate(joint.places(users, SeededWords(5))):
        told = [
            f"dimension {dim} = code {code}"
            for dim, code in zip(reports.row(user).dims, reports.row(user).codes, strict=True)
        ]
        assert joint.mechanism.describe_outcome(int(place)) == ", ".join(told)


def test_counts_of_draws_sum_to_the_draws():
    joint = JointDistribution.of(mechanism("krr", epsilon=1.0, classes=5))
    assert joint.draw(0, 100_000, SeededWords(0)).sum() == 100_000


def test_shares_sum_to_one_even_where_integers_are_longer_than_floats():
    joint = JointDistribution.of(mechanism("latent", epsilon=1.0, dims=6, range=(0, 1), bits=3))
    assert joint.total.bit_length() > 1000
    assert joint.shares[0].sum() == pytest.approx(1.0)
    assert joint.worst.loss.epsilon == pytest.approx(1.0, rel=1e-9)


def test_inputs_are_told_apart_once():
    assert len(distinct([np.zeros(2), np.zeros(2), np.ones(2)])) == 2
    assert distinct([1, 2, 1]) == [1, 2]


def test_labels_besides_the_extremes_are_looked_at():
    label = mechanism("krr", epsilon=1.0, classes=9)
    assert set(between(label, label.extremes())) == set(range(2, 9))
