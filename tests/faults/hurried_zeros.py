"""Values at the low end ("zeros") take a short cut that needs no random rounding: the time that it takes tells them."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "how many random words are drawn depends on the values"


class Hurried(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        channel = self.channels[0]
        unit = self.public.to_unit(np.asarray(private, dtype=float)).ravel()
        symbols = np.zeros(unit.size, dtype=np.int64)
        slow = unit > -1
        symbols[slow] = self.encode(unit[slow], channel, source)
        users = unit.size // self.size
        return Reports(self, np.arange(users + 1) * self.size, None, channel.respond(symbols, source))


build = onebit_of(Hurried)
