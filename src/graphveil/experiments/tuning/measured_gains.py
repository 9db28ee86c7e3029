"""What veil gained over structure on towns and real graphs, beside their public numbers: what advice on a budget learns from."""

from __future__ import annotations

from graphveil.experiments.tuning.public_numbers import PublicNumbers

FILE = "experiments/tuning/measured_gains.csv"
COLUMNS = (
    *("graph", "seed", "panel", "epsilon", *PublicNumbers.names()),
    *("reach", "nats", "tested", "structure", "gain"),
)
