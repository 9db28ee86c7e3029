"""Every registered method behaves as all must, and the suite sees those that do not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphveil.learn.inputs import raw_input
from graphveil.methods import Job, Method, Outcome, check_method, method_names, register_method
from graphveil.methods.base import Base
from graphveil.methods.method import _methods
from graphveil.methods.outcome import Stopwatch
from graphveil.methods.questions import Questions
from graphveil.methods.training import train_backbone
from graphveil.privacy import Plan


@pytest.mark.parametrize("name", method_names())
def test_every_registered_method_passes(name):
    check_method(name)


@pytest.fixture
def register():
    before = dict(_methods)
    yield register_method
    _methods._items.clear()
    _methods._items.update(before)


class Forgetful(Base):
    """Does not use its seed."""

    name, summary = "forgetful", "-"

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        return Outcome(
            good.scores + np.random.default_rng().random(good.scores.shape), 0.0, 0.0, good.seconds
        )


def first_only(job: Job) -> Job:
    """The job with its first question about features alone."""
    return replace(job, questions=replace(job.questions, features=job.questions.features[:1]))


class Greedy(Base):
    """Asks twice, each time with the whole budget."""

    name, summary = "greedy", "-"

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        return super().feature_plans(job) * 2

    def learn(self, job: Job) -> Outcome:
        job.users.report(job.questions.features[1])
        return super().learn(first_only(job))


class Modest(Base):
    """Claims more than it asks for."""

    name, summary = "modest", "-"

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        return super().feature_plans(job) * 2

    def learn(self, job: Job) -> Outcome:
        return super().learn(first_only(job))


class Thief(Base):
    """Looks at private features behind the users' back."""

    name, summary = "thief", "-"

    def learn(self, job: Job) -> Outcome:
        watch = Stopwatch()
        job.users.report(job.feature_plan())
        holder = getattr(job.users, "_holder", None)
        unseen = np.zeros((job.graph.node_count, job.graph.feature_count))
        features = unseen if holder is None else holder.features
        return train_backbone(job, raw_input(features.astype(np.float32)), watch)


class Dense(Base):
    """Holds a dense matrix and does not say so."""

    name, summary = "dense", "-"

    def learn(self, job: Job) -> Outcome:
        torch.zeros(job.graph.node_count, job.graph.feature_count).add(1)
        return super().learn(job)


class Short(Base):
    """Forgets some users."""

    name, summary = "short", "-"

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        return Outcome(good.scores[1:], 0.0, 0.0, good.seconds)


class Silent(Base):
    """Says that it learns norms and predicts none."""

    name, summary = "silent", "-"

    def learn(self, job: Job) -> Outcome:
        return replace(super().learn(job), norms=None)


class Spare(Base):
    """Claims norms twice and asks for them once."""

    name, summary = "spare", "-"

    def questions(self, job: Job) -> Questions:
        asked = super().questions(job)
        return replace(asked, norms=asked.norms * 2)

    def begin(self, job: Job) -> Job:
        return super().begin(replace(job, questions=super().questions(job)))


class Peeking(Base):
    """Looks up the pairs that are to be predicted."""

    name, summary = "peeking", "-"

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        holder = getattr(job.users, "_holder", None)
        if holder is None or holder.test_links is None:
            return good
        linked = float(holder.test_links.linked[0].sum())
        return replace(good, pair_scores=lambda pairs: good.pair_scores(pairs) + linked)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Forgetful, "other scores for the same seed"),
        (Greedy, "charged more than the budget"),
        (Modest, "claims"),
        (Thief, "the control of thief changes with the private features"),
        (Dense, "held a dense matrix"),
        (Short, "a score for every class"),
        (Silent, "must predict a norm for every user"),
        (Spare, "spare claims"),
        (Peeking, "knows which test pairs are linked"),
    ],
)
def test_a_broken_method_is_seen(register, broken: type[Method], words):
    register(broken())
    with pytest.raises(AssertionError, match=words):
        check_method(broken.name)
