"""The last users of a call get the noise of the first ones, in the opposite order."""

import numpy as np

from graphveil.channels.sampling import DrawnBits, SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from graphveil.mechanisms.reports import even_pointers
from tests.faulty import onebit_of

CAUSE = "come again in the opposite order of users"


class Mirrored(FeatureMechanism):
    """Draws words for half of the users."""

    def randomize(self, private, random_bits=None):
        """Use the words of user i for user n-1-i, too."""
        users = len(private)
        half = users - users // 2
        drawn = (SystemBits() if random_bits is None else random_bits).take(2 * half * self.size)
        parts = private[:half], private[half:][::-1]
        first, second = (
            super(Mirrored, self).randomize(part, DrawnBits(drawn.copy())).codes.reshape(len(part), self.size)
            for part in parts
        )
        codes = np.concatenate([first, second[::-1]]).ravel()
        return Reports(self, even_pointers(users, self.size), None, codes)


build = onebit_of(Mirrored)
