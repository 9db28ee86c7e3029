"""lpgnn: reports averaged over K hops, then a GNN; private labels by Drop."""

from __future__ import annotations

from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.method import HOPS_GRID, TRAINING_GRID, Capabilities, Method, train_backbone
from graphveil.methods.tasks import Outcome


class LpgnnSettings(BaseSettings):
    """Training, the scale of the input, and how far to average."""

    hops: int = Field(4, ge=0, description="K, how many hops reports are averaged over")


class Lpgnn(Method):
    """Locally private graph neural networks (Sajadmanesh and Gatica-Perez 2021).

    Features by multi-bit (or any mechanism), KProp with K hops, a GNN; with a budget for labels, these by k-ary response
    and learned by Drop (`--set label_loss=` and `drop_hops=`). The authors feed reports as they decode, up to 143,000 on
    cora at ε = 0.01; here they are scaled by public constants first, without which nothing is learned at small budgets.
    Four hops were best on validation users of cora, citeseer and facebook; pubmed likes more. Of 2 to 32 hops for labels 8
    were best on cora at label budgets of 1 and 2.
    """

    name = "lpgnn"
    summary = "KProp on reports, then a GNN; private labels by Drop"
    settings = LpgnnSettings
    can = Capabilities(norms=True, first_round_known=True, new_users=True, parts=True)
    grid = TRAINING_GRID | HOPS_GRID

    def learn(self, job: Job) -> Outcome:
        topology = learn.Topology(job.graph, job.device)
        reports = job.ask(*job.questions.features)
        with job.stage("denoise"):
            inputs = learn.report_input(reports, job.settings.share, job.device, job.max_memory)
            hops = denoise.KProp(job.settings.hops).operator(topology.unlooped)
        return train_backbone(job, linear.Composition(hops, inputs), topology)
