"""Do users answer independently of each other? A seed or random words used twice make equal rows send equal reports."""

from __future__ import annotations

import numpy as np

from graphveil.audit.findings import Leak, Rank, batch, report_matrix, reports_of
from graphveil.audit.interval import unlikely
from graphveil.audit.joint import Joint
from graphveil.channels.sampling import SeededWords
from graphveil.mechanisms.base import Mechanism

USERS, SEED = 1 << 16, 30
# All comparisons together raise a false alarm with at most this probability.
FALSE_ALARM, COMPARISONS = 1e-6, 4
# Calls with words of their own, and shares of equal pairs that count as the same.
CALLS, ALIKE = 128, 0.02
# For reports that are too many to enumerate: answers up to this ε are random enough that most reports differ.
RANDOM_ENOUGH, FEW_USERS = 3.0, 64


def independent(joint: Joint) -> list[str]:
    """Users with the same row must answer independently, in one call and in two.

    Two independent reports are equal with probability Σp², and the number of equal pairs is compared with that. If all
    pairs are equal too often alike, the sampler draws something else than the table says, which is not found here.
    """
    users = batch(joint.inputs[0], USERS)
    equal = float((joint.shares[0] ** 2).sum())
    first, second = joint.places(users, None), joint.places(users, None)
    seeded = joint.places(users, SeededWords(SEED)), joint.places(users, SeededWords(SEED + 1))
    half = len(users) // 2
    pairs = {
        "neighbouring users of one call": (first[0::2], first[1::2]),
        "distant users of one call": (first[:half], first[half:]),
        "the same users in two calls": (first[:half], second[:half]),
        "the same users with other random words": (seeded[0][:half], seeded[1][:half]),
    }
    assert len(pairs) == COMPARISONS
    matches = {title: int((one == other).sum()) for title, (one, other) in pairs.items()}
    wrong = [
        title
        for title, count in matches.items()
        if unlikely([count], half, [equal], FALSE_ALARM / COMPARISONS)[0]
    ]
    if not wrong or _all_alike(joint, list(matches.values()), half, len(wrong)):
        return []
    if min(matches.values()) == half:
        # Neither users nor calls nor words make a difference: there is no noise, and not a seed that is used twice.
        told = f"reports of users with the same row never vary, independent ones would be equal in {equal:.2%} of pairs"
        return [Leak(told, Rank.ANSWER)]
    told = ", ".join(f"{title} in {matches[title] / half:.2%}" for title in wrong)
    return [
        Leak(
            f"reports of users with the same row are not independent: they are equal for {told} of pairs, independent ones "
            f"would be in {equal:.2%} (a seed or random words used twice do this)",
            Rank.USERS,
        )
    ]


def _all_alike(joint: Joint, matches: list[int], pairs: int, wrong: int) -> bool:
    """Whether reports are equal in the same, wrong share of all kinds of pairs, users that are asked alone included."""
    alone = np.array(
        [joint.places(batch(joint.inputs[0], 1), SeededWords(SEED, call))[0] for call in range(CALLS)]
    )
    matched = int((alone[0::2] == alone[1::2]).sum())
    shares = [count / pairs for count in matches]
    agreed = not unlikely([matched], CALLS // 2, [sum(shares) / len(shares)], FALSE_ALARM)[0]
    return wrong == len(matches) and max(shares) - min(shares) < ALIKE and agreed


def never_repeated(mechanism: Mechanism) -> list[str]:
    """For reports that cannot be enumerated because there are so many: most pairs must differ."""
    # The loss is that of all answers, or of one link alone.
    if not mechanism.loss.epsilon <= RANDOM_ENOUGH * (1 if mechanism.uneven else mechanism.report_length):
        return []
    users = batch(mechanism.extremes()[0], FEW_USERS)
    words = None, None, SeededWords(SEED), SeededWords(SEED + 1)
    drawn = [report_matrix(reports_of(mechanism, users, source), mechanism.report_length) for source in words]
    pairs = {
        "neighbouring users of one call": (drawn[0][0::2], drawn[0][1::2]),
        "two calls": (drawn[0], drawn[1]),
        "two calls with different random words": (drawn[2], drawn[3]),
    }
    return [
        Leak(
            f"reports are not independent: {title} give equal reports (a seed or random words used twice do this)",
            Rank.USERS,
        )
        for title, (one, other) in pairs.items()
        if (one == other).all(axis=1).mean() > 0.5
    ]
