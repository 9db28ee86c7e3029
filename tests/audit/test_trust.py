import numpy as np

from graphveil.audit.candidate import (
    Candidate,
    CheckedLoss,
    claims_independence,
    compared,
    draws_by_reports,
    foreign,
    overridden,
    trusted,
    with_values,
)
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, LinkMechanism, PublicRange, mechanism


class _Boasting(FeatureMechanism):
    @property
    def loss(self):
        return self.channels[0].loss

    @property
    def holds(self):
        return True

    def compares(self, one, other):
        return False


def _boasting(each=1.0):
    return _Boasting("boasting", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(each),), 1.0)


def test_the_packages_own_word_is_believed():
    item = mechanism("item", epsilon=1.0, dims=6, length=2)
    assert not overridden(item, "loss")
    assert CheckedLoss.of(item) == CheckedLoss(item.loss, item.delta, item.holds)
    assert trusted(item, enumerated=False) == ([], [])


def test_a_smaller_loss_needs_an_enumeration():
    assert CheckedLoss.of(_boasting()).needs_proof
    assert any("no enumeration shows" in leak for leak in trusted(_boasting(), enumerated=False)[1])
    assert trusted(_boasting(), enumerated=True)[1] == []


def test_holds_is_computed_again():
    class Sure(FeatureMechanism):
        holds = True

    built = Sure("sure", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1.0),), 1.0)
    assert not CheckedLoss.of(built).holds


def test_pairs_are_compared_whatever_a_stranger_says():
    assert compared(_boasting(), np.zeros(3), np.ones(3))


def test_links_differ_in_one():
    links = mechanism("link-rr", epsilon=1.0, dims=3)
    assert compared(links, np.zeros(3), np.eye(3)[0])
    assert not compared(links, np.zeros(3), np.ones(3))


def test_a_curator_is_taken_on_trust():
    (told,), leaks = trusted(mechanism("lapgraph", epsilon=1.0, dims=3), enumerated=True)
    assert "the curator who adds the noise" in told and "must be trusted" in told and leaks == []


def test_without_a_curator_nobody_is():
    assert trusted(mechanism("link-rr", epsilon=1.0, dims=3), enumerated=True) == ([], [])


def test_that_answers_depend_on_each_other_is_believed_of_the_package_alone():
    class OutsideEvent(LinkMechanism):
        independent = False
        words_by_reports = True

    channel = mechanism("link-rr", epsilon=1.0, dims=3).channel
    outside = OutsideEvent("outside", Claim(1.0), 3, channel)
    assert claims_independence(outside) and not draws_by_reports(outside)
    own = mechanism("dprr", epsilon=1.0, dims=3)
    assert not claims_independence(own) and draws_by_reports(own)


def test_a_borrowed_name_is_not_believed():
    class Borrowed(_Boasting):
        __module__ = "graphveil.mechanisms.features"

    built = Borrowed("borrowed", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1.0),), 1.0)
    assert overridden(built, "loss") and CheckedLoss.of(built).needs_proof


def test_a_method_that_was_put_in_place_is_not_believed(monkeypatch):
    item = mechanism("item", epsilon=1.0, dims=6, length=2)
    monkeypatch.setattr(type(item), "loss", onebit(1.0).blind().loss)
    assert overridden(item, "loss")


def test_values_are_exchanged_by_the_packages_word():
    class Hiding(FeatureMechanism):
        def with_values(self, private, values):
            return private

    built = Hiding("hiding", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1 / 3),), 1.0)
    assert with_values(built, np.zeros((2, 3)), np.ones((2, 3))).sum() == 6


def test_what_is_foreign_is_told_by_builder_and_parts():
    candidate = Candidate.of("krr")
    assert not foreign(candidate, candidate.build())
    built = Candidate.of(mechanism("krr", epsilon=1.0, classes=3))
    assert not foreign(built, built.build())
    mine = Candidate.of(lambda epsilon, classes: mechanism("krr", epsilon=epsilon, classes=classes))
    assert foreign(mine, mine.build())
    assert foreign(Candidate.of(_boasting()), _boasting())
