"""What a hop moves between workers: the formula, beside what was measured, and a table for graphs that do not fit here.

    python -m benchmarks.traffic

A hop sends a row for each neighbour that a worker's users have elsewhere: halo rows x columns x 4 bytes. In a town each user picks p = degree·(1 -
nearby)/2 strangers anywhere, and all other friends live in the same partition. With W workers, somebody elsewhere is not needed by
a worker if none of the own picks is among its users, (1 - 1/W)^p, and nobody there picks them, e^(-p/W). So a worker needs

    rows = n·(1 - 1/W)·(1 - (1 - 1/W)^p·e^(-p/W)).

The table rests on more: every machine receives 1.25 GB a second (10 Gbit/s) while it sends as much, nothing else travels, messages
do not wait for each other, and a machine multiplies as fast as one thread here: 16 columns of 20 million entries in 0.16 s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphveil.graphs.town import Town

COLUMNS, BYTES = 16, 4
# Bytes a second, and entries of a product of 16 columns a second.
LINE, PRODUCT = 1.25e9, 20e6 / 0.16
SIZES, MACHINES = (10**8, 10**9), (16, 64, 256)
# A link has two entries of a column each; of 16 columns a user about so many are in memory (docs/parts.md: 580 bytes a user of a town); and
# of a neighbour elsewhere its number, where its links begin, and a link.
ENTRY_BYTES, COPIES, NEIGHBOUR_BYTES = 4, 8, 20


@dataclass(frozen=True)
class Hop:
    """One hop of one worker, on paper."""

    users: int
    workers: int
    degree: float
    rows: float

    @property
    def megabytes(self) -> float:
        """What the worker receives."""
        return self.rows * COLUMNS * BYTES / 1e6

    @property
    def travelling(self) -> float:
        """Seconds on the line."""
        return self.rows * COLUMNS * BYTES / LINE

    @property
    def multiplying(self) -> float:
        """Seconds of the product."""
        return self.users * self.degree / self.workers / PRODUCT

    @property
    def gigabytes(self) -> float:
        """Memory of the links, of rows between layers, and of who is elsewhere."""
        own = self.users / self.workers
        held = own * (self.degree * ENTRY_BYTES + COPIES * COLUMNS * BYTES)
        return (held + self.rows * NEIGHBOUR_BYTES) / 1e9


def halo_rows(plan: Town, workers: int) -> float:
    """How many rows a worker needs of others before a hop, expected."""
    picks, share = plan.degree * (1 - plan.nearby) / 2, 1 / workers
    unneeded = (1 - share) ** picks * math.exp(-picks * share)
    return plan.users * (1 - share) * (1 - unneeded)


def on_paper(users: int, workers: int) -> Hop:
    """A hop of a town of so many users."""
    plan = Town(users=users)
    return Hop(users, workers, plan.degree, halo_rows(plan, workers))


def table() -> str:
    """The table of large graphs, as Markdown."""
    lines = [
        "| users | machines | rows that come | a hop moves, each | on the line | product | memory, each |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for users in SIZES:
        for workers in MACHINES:
            hop = on_paper(users, workers)
            lines.append(
                f"| 10^{round(math.log10(users))} | {workers} | {hop.rows / 1e6:.1f} million | {hop.megabytes:,.0f} MB | "
                f"{hop.travelling:.2f} s | {hop.multiplying:.2f} s | {hop.gigabytes:.1f} GB |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
