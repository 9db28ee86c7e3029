"""base: perturb, then a GNN. What every other method has to beat."""

from __future__ import annotations

from pydantic import Field

from graphveil import learn
from graphveil.methods.job import Job
from graphveil.methods.method import TRAINING_GRID, Capabilities, Method, ScaledSettings, train_backbone
from graphveil.methods.tasks import Outcome


class BaseSettings(ScaledSettings):
    """Training, and the scale of the input."""

    norm_weight: float = Field(
        1.0, ge=0, description="norms besides classes: the weight of their loss beside that of the classes"
    )


class Base(Method):
    """Features by any mechanism, decoded, scaled by public constants, fed to a GNN. No denoising.

    UPGNET calls this BASE. Reports stay sparse where the mechanism samples; one that reports every value needs a dense
    n x d matrix, and is refused above the allowed memory.
    """

    name = "base"
    summary = "reports by any mechanism, straight into a GNN"
    settings = BaseSettings
    can = Capabilities(norms=True, several_labels=True, first_round_known=True, new_users=True, parts=True)
    grid = TRAINING_GRID

    def learn(self, job: Job) -> Outcome:
        reports = job.ask(*job.questions.features)
        inputs = learn.report_input(reports, job.settings.share, job.device, job.max_memory)
        return train_backbone(job, inputs)
