import numpy as np

from graphveil.audit.trust import (
    Stated,
    claims_independence,
    compared,
    draws_by_reports,
    overridden,
    trusted,
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
    assert Stated.of(item) == Stated(item.loss, item.delta, item.holds)
    assert trusted(item, enumerated=False) == ([], [])


def test_a_smaller_loss_needs_an_enumeration():
    assert Stated.of(_boasting()).needs_proof
    assert any("no enumeration shows" in leak for leak in trusted(_boasting(), enumerated=False)[1])
    assert trusted(_boasting(), enumerated=True)[1] == []


def test_holds_is_computed_again():
    class Sure(FeatureMechanism):
        holds = True

    built = Sure("sure", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1.0),), 1.0)
    assert not Stated.of(built).holds


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
    class Outside(LinkMechanism):
        independent = False
        words_by_reports = True

    channel = mechanism("link-rr", epsilon=1.0, dims=3).channel
    outside = Outside("outside", Claim(1.0), 3, channel)
    assert claims_independence(outside) and not draws_by_reports(outside)
    own = mechanism("dprr", epsilon=1.0, dims=3)
    assert not claims_independence(own) and draws_by_reports(own)
