"""A line in the log says what a row begins with. The sound twin wraps a mechanism and logs how many users answer."""

import logging

import numpy as np

from graphveil.mechanisms import Enumerable, mechanism

CAUSE = "what it prints or logs depends on the values"
DRAWN = False
LOG = logging.getLogger("client")


class Wrapper(Enumerable):
    """Not a data class, and all that it says of itself is another mechanism's word."""

    subject, unbiased, told = "features", True, False

    def __init__(self, inner):
        self.inner, self.name, self.claim = inner, inner.name, inner.claim

    answers = property(lambda self: self.inner.answers)
    shape = property(lambda self: self.inner.shape)
    public = property(lambda self: self.inner.public)
    fingerprint = property(lambda self: self.inner.fingerprint)

    def randomize(self, private, random_bits=None):
        LOG.info("%d users answer", self.inner.count(private))
        if self.told:
            LOG.debug("the first of them holds %s", np.asarray(private).ravel()[:1])
        return self.inner.randomize(private, random_bits)

    def count(self, private):
        return self.inner.count(private)

    def estimate(self, reports):
        return self.inner.estimate(reports)

    def blind(self):
        return type(self)(self.inner.blind())

    def extremes(self):
        return self.inner.extremes()

    def joint_counts(self, private):
        return self.inner.joint_counts(private)

    def possible_reports(self):
        return self.inner.possible_reports()

    def describe_outcome(self, index):
        return self.inner.describe_outcome(index)


class Telling(Wrapper):
    told = True


def build(epsilon, dims, range, sampled=2, kind=Telling):
    return kind(mechanism("duchi", epsilon=epsilon, dims=dims, range=range, sampled=min(sampled, dims)))


def sound(epsilon, dims, range, sampled=2):
    return build(epsilon, dims, range, sampled, Wrapper)
