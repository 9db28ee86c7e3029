"""Means, intervals and tests of runs, from `graphveil.statistics`: measures in files of others import them here."""

from graphveil.statistics import (
    CONFIDENCE,
    SPREADS,
    Summary,
    beside,
    bootstrap,
    holm,
    link_verdict,
    paired_gain,
    paired_p,
    t_interval,
    verdict,
)

__all__ = [
    "CONFIDENCE",
    "SPREADS",
    "Summary",
    "beside",
    "bootstrap",
    "holm",
    "link_verdict",
    "paired_gain",
    "paired_p",
    "t_interval",
    "verdict",
]
