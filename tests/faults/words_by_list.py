"""Links beyond the noisy number take random words of their own: how many words are used tells how many links there are."""

from graphveil.channels import Claim, counting, kary
from graphveil.mechanisms import SampledLinkMechanism

CAUSE = "depends on the values even where the reported degree is the same"


class NoMoreWords(SampledLinkMechanism):
    @property
    def usual_noise(self):
        return 0


def _built(kind, epsilon, dims):
    return kind(
        "words", Claim(epsilon), dims, kary(0.9 * epsilon, 2), degree_channel=counting(0.1 * epsilon, dims)
    )


def build(epsilon, dims):
    return _built(NoMoreWords, epsilon, dims)


def sound(epsilon, dims):
    return _built(SampledLinkMechanism, epsilon, dims)
