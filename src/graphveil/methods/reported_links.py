"""Links that are private: what methods that ask for them have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphveil import denoise, learn, linear
from graphveil.methods.job import Job

# How much a weight is held to how plausible its pair is, and how much it is shrunk (Solitude's λ1 and λ2).
PULL, SHRINK = 10.0, 0.8


@dataclass(frozen=True)
class WeighedLinks:
    """Reported pairs that are plausible enough to stay, and the weights that they start from."""

    reported: int
    pattern: linear.PairPattern
    objective: learn.LinkObjective
    topology: learn.WeightedTopology


def weighed_links(job: Job, pull: float = PULL, shrink: float = SHRINK) -> WeighedLinks:
    """Ask for links, and weigh the reported pairs by how plausible they are; what is too implausible is dropped."""
    plan = job.questions.links
    assert plan is not None
    links = denoise.ReportedLinks.of(job.users.report(plan))
    job.say("weighing links", 0.0)
    plausible = learn.tensor(links.plausibilities().astype(np.float32))
    objective = learn.LinkObjective(plausible, pull, shrink)
    kept = objective.rest() > 0
    pattern = linear.PairPattern(links.pairs[kept.numpy()], links.users, job.device)
    objective = replace(objective, reported=objective.reported[kept].to(job.device))
    return WeighedLinks(
        len(links.pairs), pattern, objective, learn.WeightedTopology(pattern, objective.rest())
    )
