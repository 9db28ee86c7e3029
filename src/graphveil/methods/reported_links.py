"""Links that are private: what methods that ask for them have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from graphveil.mechanisms import LinkMechanism
from graphveil.methods.job import Job

if TYPE_CHECKING:
    from graphveil.learn.weighted import LinkObjective, WeightedTopology
    from graphveil.linear.pairs import PairPattern

# How much a weight is held to how plausible its pair is, and how much it is shrunk (Solitude's λ1 and λ2).
PULL, SHRINK = 10.0, 0.8


@dataclass(frozen=True)
class WeighedLinks:
    """Reported pairs that are plausible enough to stay, and the weights that they start from."""

    reported: int
    pattern: PairPattern
    objective: LinkObjective
    topology: WeightedTopology


def refuse_links(job: Job) -> None:
    """Refuse, before anybody is asked, private links whose noise would not fit into memory."""
    if not job.budgets.private_links:
        return
    from graphveil.denoise.links import refuse_too_many

    mechanism = job.link_plan().build()
    assert isinstance(mechanism, LinkMechanism)
    refuse_too_many(mechanism, job.max_memory)


def weighed_links(job: Job, pull: float = PULL, shrink: float = SHRINK) -> WeighedLinks:
    """Ask for links, and weigh the reported pairs by how plausible they are; what is too implausible is dropped."""
    import torch

    from graphveil.denoise.links import ReportedLinks
    from graphveil.learn.weighted import LinkObjective, WeightedTopology
    from graphveil.linear.pairs import PairPattern

    plan = job.questions.links
    assert plan is not None
    links = ReportedLinks.of(job.users.report(plan))
    job.say("weighing links", 0.0)
    plausible = torch.from_numpy(links.plausibilities().astype(np.float32))
    objective = LinkObjective(plausible, pull, shrink)
    kept = objective.rest() > 0
    pattern = PairPattern(links.pairs[kept.numpy()], links.users, job.device)
    objective = replace(objective, reported=objective.reported[kept].to(job.device))
    return WeighedLinks(len(links.pairs), pattern, objective, WeightedTopology(pattern, objective.rest()))
