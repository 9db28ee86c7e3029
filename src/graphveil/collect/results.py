"""What was learned from a collection, kept beside what it was learned from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from graphveil.collect.schema import RESULTS, ROSTER


@dataclass(frozen=True)
class KeptResult:
    """What was learned; ``outdated`` where reports that it was learned with were forgotten since."""

    number: int
    card: dict[str, Any]
    made: int
    outdated: bool


def keep(connection: Connection, card: str, contributors: Iterable[int]) -> int:
    """Keep a card; its number. It is marked at once where one of the ``contributors`` was forgotten while it was being learned."""
    forgotten = connection.execute(select(ROSTER.c.node).where(ROSTER.c.forgotten.is_(True))).scalars()
    outdated = not set(forgotten).isdisjoint(map(int, contributors))
    added = connection.execute(insert(RESULTS).values(card=card, made=int(time.time()), outdated=outdated))
    return int(added.inserted_primary_key[0]) if added.inserted_primary_key else 0


def read(connection: Connection) -> list[KeptResult]:
    """All cards, in order."""
    rows = connection.execute(select(RESULTS).order_by(RESULTS.c.number)).all()
    return [KeptResult(row.number, json.loads(row.card), row.made, bool(row.outdated)) for row in rows]
