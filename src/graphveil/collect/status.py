"""How a collection stands: who takes part, which rounds there are, and what was learned. Counts, and nobody's id."""

from __future__ import annotations

from typing import Any

from graphveil.audit.statement import CollectionFacts, StatedPlan
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


def stated_collection(collection: Collection) -> tuple[tuple[StatedPlan, ...], CollectionFacts]:
    """Return what a collection has asked, and what it holds, for its privacy statement."""
    plans = tuple(
        StatedPlan(f"round {each.number}", each.plan, each.asked, each.answered)
        for each in collection.rounds()
    )
    settings, counts, public = collection.settings, collection.counts(), collection.public_graph()
    facts = CollectionFacts(
        id=settings.id,
        purpose=settings.purpose,
        epsilon=settings.epsilon,
        delta=settings.delta,
        users=public.users,
        links=len(public.edges),
        labels=int((public.labels >= 0).sum()),
        enrolled=counts["enrolled"],
        volunteers=counts["rows"],
        forgotten=counts["forgotten"],
        retention=settings.retention,
        renewing=int((collection.roster().renewal > 0).sum()),
    )
    return plans, facts
