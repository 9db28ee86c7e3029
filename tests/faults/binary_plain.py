"""With binary values the encoded bit is sent and not the answer."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange
from tests.faulty import plain

CAUSE = "with binary values"


class BinaryPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if self.binary else reports


def build(epsilon, dims, range, binary=False, kind=BinaryPlain):
    channel = onebit(epsilon / dims)
    return kind(
        "binary plain", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0, binary=binary
    )


def sound(epsilon, dims, range, binary=False):
    return build(epsilon, dims, range, binary, FeatureMechanism)
