"""What is known of a graph before anybody is asked: public numbers, and rows of volunteers where there are some."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Panel
from graphveil.methods.gain_model import LEAST_NATS, TOWN, Situation
from graphveil.methods.job import Job
from graphveil.methods.public_numbers import PublicNumbers, unlabelled_rows, within_reach
from graphveil.methods.simulated_answers import VolunteerRows, simulated_gain, volunteer_rows
from graphveil.methods.structure_posterior import Posterior, structure_posterior
from graphveil.methods.veil_answers import PublicKnowledge, teacher_of
from graphveil.methods.veil_model import taught_by_panel

# The fewest volunteers that teach a model from which the next doubling is foretold.
SPLIT_PANEL = 40


@dataclass(frozen=True, eq=False)
class PublicView:
    """A graph as its server sees it: its numbers, how sure graph and labels are of those without a label, and what volunteers tell.

    ``structure`` is what structure reaches on validation users, ``doubling`` what twice as many volunteers would add to the nats of
    their rows.
    """

    data: str
    numbers: PublicNumbers
    structure: float
    rows: NDArray[np.float64]
    volunteers: VolunteerRows | None = None
    doubling: float = 0.0

    @classmethod
    def of(cls, job: Job) -> PublicView:
        """Return what is public of the graph of a veil job, whose users are not asked."""
        if teacher_of(job) == "public":
            raise InputError(
                "advice knows nothing of weights from a file: leave teach=public and weights out"
            )
        posterior = structure_posterior(job, job.settings)
        numbers = PublicNumbers.of(job.graph, posterior)
        rows = unlabelled_rows(job.graph, posterior)
        view = cls(job.graph.name, numbers, posterior.validation_score, rows)
        panel = job.graph.panel
        if teacher_of(job) != "panel" or panel is None:
            return view
        job.say("learning from volunteers", 0.5)
        known = PublicKnowledge.of(job, posterior)
        volunteers = _volunteers(job, known, posterior, panel)
        doubling = 0.0
        if len(panel) >= SPLIT_PANEL:
            half = _volunteers(job, known, posterior, _every_other(panel))
            doubling = max(volunteers.nats - half.nats, 0.0)
        return replace(view, volunteers=volunteers, doubling=doubling)

    @property
    def town(self) -> bool:
        """Whether the graph is generated."""
        return self.data.startswith(TOWN)

    @property
    def panel(self) -> int:
        """How many volunteers there are."""
        return 0 if self.volunteers is None else len(self.volunteers.scores)

    def at(self, epsilon: float) -> Situation:
        """Return the graph and a budget."""
        here = Situation(self.numbers, epsilon, within_reach(self.rows, epsilon), town=self.town)
        if self.volunteers is None:
            return here
        simulated = simulated_gain(self.rows, self.volunteers, epsilon)
        return replace(here, panel=self.panel, nats=self.volunteers.nats, simulated=simulated)

    def with_volunteers(self, situation: Situation, count: int) -> Situation:
        """Return the same with so many volunteers. What their rows would tell is foretold from those who are there; what answers add grows alike."""
        if self.volunteers is None:
            return replace(situation, panel=count)
        most = math.log(self.numbers.classes)
        nats = min(max(self.volunteers.nats + self.doubling * math.log2(count / self.panel), 0.0), most)
        simulated = situation.simulated * nats / max(self.volunteers.nats, LEAST_NATS)
        return replace(situation, panel=count, nats=nats, simulated=min(simulated, situation.reach))


def _volunteers(job: Job, known: PublicKnowledge, posterior: Posterior, panel: Panel) -> VolunteerRows:
    """Return what rows of these volunteers tell."""
    graph = replace(job.graph, panel=panel)
    model = taught_by_panel(graph, known.targets, job.settings.about, job.seed)
    return volunteer_rows(graph, posterior, model)


def _every_other(panel: Panel) -> Panel:
    """Return half of the volunteers."""
    places = np.arange(0, len(panel), 2)
    return Panel(panel.users[places].copy(), panel.rows[places])
