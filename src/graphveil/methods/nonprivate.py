"""nonprivate: the same learning on raw features. What there is to lose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graphveil import learn
from graphveil.methods.job import Job, raw_rows
from graphveil.methods.method import RAW_ROWS, TRAINING_GRID, Capabilities, Method, Settings, train_backbone
from graphveil.methods.tasks import Outcome


class NonPrivateSettings(Settings):
    """Training; raw features carry so much that a wider, more restrained network does better on validation users."""

    hidden: int = Field(64, ge=1, description="columns of the hidden layer")
    dropout: float = Field(0.8, ge=0, lt=1, description="dropout before the second layer")
    activation: Literal["selu", "relu"] = Field("relu", description="selu or relu")


class NonPrivate(Method):
    """A backbone on raw features, scaled by nothing. It claims no privacy and is the only method that reads them."""

    name = "nonprivate"
    summary = "a GNN on raw features: no privacy, what there is to lose"
    settings = NonPrivateSettings
    can = Capabilities("raw", several_labels=True, new_users=True, why_not={"parts": RAW_ROWS})
    grid = TRAINING_GRID

    def learn(self, job: Job) -> Outcome:
        return train_backbone(job, learn.raw_input(raw_rows(job), job.device))
