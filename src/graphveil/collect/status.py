"""How a collection stands: who takes part, which rounds there are, and what was learned. Counts, and nobody's id."""

from __future__ import annotations

from typing import Any

from graphveil.collect.storage import Collection


def collection_status(collection: Collection) -> dict[str, Any]:
    """All of it as one object."""
    return {
        **collection.settings.offered,
        "key": collection.key.public.hex(),
        "rotations": len(collection.successions),
        "users": collection.public_graph().users,
        "graph": max(collection.versions),
        **collection.counts(),
        "rounds": [
            {
                "round": each.number,
                "study": each.study,
                "mechanism": each.plan.mechanism,
                "epsilon": each.plan.claim.epsilon,
                "digest": each.digest,
                "asked": len(each.asked),
                "answered": each.answered,
                "least": each.least,
                "closed": each.closed,
                "expires": each.expires,
            }
            for each in collection.rounds()
        ],
        "results": [
            {"result": each.number, "method": each.card.get("method"), "outdated": each.outdated}
            for each in collection.results()
        ],
    }
