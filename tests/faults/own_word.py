"""It has no finite table, and its epsilon is what it says, without a reason."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, Mechanism, PublicRange, ReportShape

CAUSE = "its epsilon is its own word"


class OwnWord(Mechanism):
    finite = False
    subject = "features"
    unbiased = False
    answers = ()
    shape = ReportShape(8, 2, 8)

    def __init__(self, epsilon, dims):
        self.name, self.claim = "own word", Claim(epsilon)
        self.shape = ReportShape(dims, 2, dims)

    @property
    def loss(self):
        return onebit(self.claim.epsilon).loss

    def randomize(self, private, random_bits=None):
        return self._inside().randomize(private, random_bits)

    def _inside(self):
        channel = onebit(self.claim.epsilon / self.shape.dimensions)
        return _Named(
            "own word",
            self.claim,
            PublicRange(0, 1),
            self.shape.dimensions,
            self.shape.dimensions,
            (channel,),
            1.0,
        )

    @property
    def fingerprint(self):
        return self._inside().fingerprint

    def estimate(self, reports):
        return self._inside().estimate(reports)

    def extremes(self):
        return self._inside().extremes()

    def blind(self):
        raise NotImplementedError


class _Named(FeatureMechanism):
    pass


class Reasoned(OwnWord):
    @property
    def loss(self):
        """The loss of d answers at ε/d each, which add up to ε."""
        return onebit(self.claim.epsilon).loss


def build(epsilon, dims):
    return OwnWord(epsilon, dims)


def sound(epsilon, dims):
    return Reasoned(epsilon, dims)
