"""What the tests of mechanisms share: words that are given, small instances, whole reports in order."""

import math
from fractions import Fraction

import numpy as np
from scipy.stats import norm

from graphveil.audit.candidate import decoder
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import FeatureMechanism, Mechanism, NeighbourLists, mechanism
from graphveil.mechanisms.reports import row_pointers

ALL_VALUES = ["onebit", "laplace", "gaussian", "analytic-gaussian", "latent", "ome", "featurerr"]
SAMPLED = [
    "multibit",
    "piecewise",
    "square-wave",
    "hds",
    "duchi",
    "hybrid",
    "three-output",
    "pm-sub",
    "condensed",
]
# Graphs that a curator publishes.
CURATED = ["lapgraph", "privhrg", "edgerr"]
BIASED = ["hds", "featurerr", "esw", "dprr", *CURATED]
FEATURES = [*ALL_VALUES, *SAMPLED]
# Where users hold a level besides their row; test_ppm.py is about these.
PERSONAL = ["ppm", "ppm-printed"]
# Links with degrees, which at least two users have.
DEGREES = ["blink", "dprr"]
EVERYTHING = [*FEATURES, "item", "privunit", "krr", "esw", "link-rr", *DEGREES, *CURATED]


def small(name, epsilon=1.0, dims=3, **settings) -> Mechanism:
    """A mechanism over few values in [0, 1], a label of four, a level of four, one of two items, links to a few users."""
    if name in ("link-rr", *CURATED, *DEGREES):
        return mechanism(name, epsilon=epsilon, dims=max(dims, 2) if name in DEGREES else dims, **settings)
    if name == "krr":
        return mechanism(name, epsilon=epsilon, **{"classes": 4, **settings})
    if name == "esw":
        return mechanism(name, epsilon=epsilon, **{"levels": 4, **settings})
    if name == "item":
        return mechanism(name, epsilon=epsilon, dims=dims, **{"length": min(2, dims), **settings})
    return mechanism(name, epsilon=epsilon, dims=dims, **{"range": (0, 1), **settings})


def private(name, users=4, dims=3):
    """What some users may hold for a small mechanism."""
    if name == "krr":
        return np.arange(users) % 4
    if name == "esw":
        return 1 + np.arange(users) % 4
    rows = np.zeros((users, dims))
    rows[np.arange(users), np.arange(users) % dims] = 1
    return rows


def of_graph(links, users, owners=None):
    """The lists of all users, or of some, both ends of a link on each other's."""
    pairs = np.asarray(links, dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    pointers = row_pointers(np.bincount(both[:, 0], minlength=users))
    lists = NeighbourLists(np.arange(users), pointers, both[:, 1])
    return lists if owners is None else lists.of(np.array(owners))


def published(reports):
    """The pairs that a curator publishes, the larger number first."""
    return np.stack([np.repeat(reports.places, reports.lengths), reports.codes.astype(np.int64)], axis=1)


LINKS = [(0, 1), (1, 4), (2, 4), (3, 4)]


def lists_of(reports):
    """The neighbours that each user names, without the degree."""
    pointers, codes = reports.mechanism.neighbours(reports)
    return [codes[pointers[at] : pointers[at + 1]].tolist() for at in range(len(pointers) - 1)]


def exact_mean(found: Mechanism, row) -> list[float]:
    """The mean of the estimate of a row on the grid, summed over every whole report in fractions."""
    counts, total = found.joint_counts(row)
    counts = [int(count) for count in counts]
    assert sum(counts) == total
    estimates = decoder(found).estimate(found.possible_reports()).dense()
    return [
        float(sum(Fraction(value) * count for value, count in zip(column, counts, strict=True)) / total)
        for column in estimates.T.tolist()
    ]


def check_drawn_mean(found: Mechanism, row, users, seed, alarm=1e-6):
    """The estimates of so many users with the same row have it as their mean: z-tests, with a false alarm so rarely in all."""
    estimates = found.randomize(np.tile(row, (users, 1)), SeededBits(seed)).estimate().dense()
    z = (estimates.mean(axis=0) - row) / (estimates.std(axis=0) / np.sqrt(users))
    assert np.abs(z).max() < norm.isf(alarm / (2 * len(row)))
    return estimates


def same_answers(found: Mechanism, one, other, seed=8):
    """Whether two private inputs are answered alike with the same words."""
    return found.randomize(one, SeededBits(seed)) == found.randomize(other, SeededBits(seed))


def check_counts_as(found: Mechanism, odd, usual, altered):
    """What is odd is answered like what is usual, and counted as so many altered rows."""
    assert same_answers(found, odd, usual)
    assert (found.altered(odd), found.altered(usual)) == (altered, 0)


def largest_ratio(found: Mechanism, rows) -> Fraction:
    """The largest ratio of the probabilities of any whole report under any two of these rows."""
    tables = []
    for row in rows:
        counts, total = found.joint_counts(row)
        tables.append(counts.tolist())
        assert sum(tables[-1]) == total
    return max(
        Fraction(one, other)
        for first in tables
        for second in tables
        for one, other in zip(first, second, strict=True)
    )


def loss_ratio(found: Mechanism) -> Fraction:
    """e to the power of the exact loss."""
    return ratio_of(found.loss)


def ratio_of(loss) -> Fraction:
    """e to the power of an exact loss."""
    assert loss.terms is not None
    return math.prod((ratio**count for ratio, count in loss.terms), start=Fraction(1))


def grid_rows(found: FeatureMechanism):
    """Rows on the input grid: its two ends, mixed, and a point in between where there is one."""
    inputs = found.channels[0].inputs
    picks = [inputs[0], inputs[-1], inputs[len(inputs) // 2]]
    units = [np.full(found.size, value) for value in picks]
    mixed = np.full(found.size, inputs[0])
    mixed[0] = inputs[-1]
    return [found.public.centre + found.public.half_width * unit for unit in (*units, mixed)]
