"""Every registered method behaves as all must, and the suite sees those that do not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from graphveil.graphs.panel import with_panel
from graphveil.learn.inputs import raw_input
from graphveil.methods import METHODS, Job, Method, Outcome, check_method, method_checks
from graphveil.methods.base import Base
from graphveil.methods.check import CLASSES, USERS, Trial, make_job, small_data, trials_of
from graphveil.methods.job import Questions, feature_plan
from graphveil.methods.method import begin, train_backbone, with_questions
from graphveil.methods.nonprivate import NonPrivate
from graphveil.privacy import Nobody, Respondents
from tests.methods.suite import every_trial, run_trial
from tests.volunteering import Volunteering


@pytest.mark.parametrize(
    ("name", "settings", "trial"), [each for name in METHODS.own() for each in every_trial(name)]
)
def test_every_registered_method_passes(name, settings, trial):
    run_trial(name, settings, trial)


@pytest.fixture
def register():
    before = dict(METHODS)

    def add(kind):
        kind.name, kind.summary = kind.__name__.lower(), "-"
        METHODS.add(kind.name, kind())

    yield add
    METHODS._items.clear()
    METHODS._items.update(before)


class Forgetful(Base):
    """Does not use its seed."""

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

    def questions(self, job: Job) -> Questions:
        asked = super().questions(job)
        return replace(asked, features=asked.features * 2)

    def learn(self, job: Job) -> Outcome:
        job.users.report(job.questions.features[1])
        return super().learn(first_only(job))


class Modest(Greedy):
    """Claims more than it asks for."""

    def learn(self, job: Job) -> Outcome:
        return Base.learn(self, first_only(job))


class Thief(Base):
    """Looks at private features behind the users' back."""

    def learn(self, job: Job) -> Outcome:
        job.users.report(feature_plan(job))
        holder = getattr(job.users, "_holder", None)
        unseen = np.zeros((job.graph.node_count, job.graph.feature_count))
        features = unseen if holder is None else holder.features
        return train_backbone(job, raw_input(features.astype(np.float32)))


class Dense(Base):
    """Holds a dense matrix and does not say so."""

    def learn(self, job: Job) -> Outcome:
        torch.zeros(job.graph.node_count, job.graph.feature_count).add(1)
        return super().learn(job)


class Short(Base):
    """Forgets some users."""

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        return Outcome(good.scores[1:], 0.0, 0.0, good.seconds)


class Silent(Base):
    """Says that it learns norms and predicts none."""

    def learn(self, job: Job) -> Outcome:
        return replace(super().learn(job), norms=None)


class Spare(Base):
    """Claims norms twice and asks for them once."""

    def questions(self, job: Job) -> Questions:
        asked = super().questions(job)
        return asked if asked.norms is None else replace(asked, features=(*asked.features, asked.norms))

    def run(self, job: Job) -> Outcome:
        return super().run(replace(job, questions=super().questions(job)))


class Peeking(Base):
    """Looks up the pairs that are to be predicted."""

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        holder = getattr(job.users, "_holder", None)
        if holder is None or holder.test_links is None:
            return good
        linked = float(holder.test_links.linked[0].sum())
        return replace(good, pair_scores=lambda pairs: good.pair_scores(pairs) + linked)


class Endless(Base):
    """Gives a score that is no number."""

    def learn(self, job: Job) -> Outcome:
        return replace(super().learn(job), scores=np.full((USERS, CLASSES), np.inf, dtype=np.float32))


class Hasty(Base):
    """Learns one class a user, and asks before it looks at the labels."""

    can = replace(Base.can, several_labels=False)

    def run(self, job: Job) -> Outcome:
        return self.learn(with_questions(self, job))


class Coy(NonPrivate):
    """Learns several labels a user and does not say so."""

    can = replace(NonPrivate.can, several_labels=False)

    def run(self, job: Job) -> Outcome:
        return self.learn(with_questions(self, job))


def behind(users: Respondents) -> Any:
    """What the users hold whose reports are written down; None where only their reports are there."""
    return getattr(getattr(users, "_users", None), "_holder", None)


class Eavesdropper(Base):
    """Adds what users hold to what it has learned from their reports."""

    def learn(self, job: Job) -> Outcome:
        good, holder = super().learn(job), behind(job.users)
        return good if holder is None else replace(good, scores=good.scores + holder.features.sum())


class Reader(Base):
    """Takes labels from those who hold them, not from their reports."""

    def learn(self, job: Job) -> Outcome:
        good, holder = super().learn(job), behind(job.users)
        return good if holder is None else replace(good, scores=good.scores + holder.labels[:, None])


class Insisting(Volunteering):
    """Asks where nobody is to be asked."""

    def learn(self, job: Job) -> Outcome:
        return super().learn(replace(job, questions=replace(job.questions, features=(feature_plan(job),))))


class Restless(Volunteering):
    """Does not use its seed where nobody is asked."""

    def learn(self, job: Job) -> Outcome:
        good = super().learn(job)
        return replace(good, scores=good.scores + np.random.default_rng().random(good.scores.shape))


BROKEN = [
    (Endless, "classes: scores are finite", "scores that are not finite"),
    (Forgetful, "classes: the same seed gives the same scores", "other scores for the same seed"),
    (
        Greedy,
        "classes: what is given is charged",
        "charged more than the budget it was given for features: 2 of 1",
    ),
    (Modest, "classes: what is claimed is charged", "modest claims .* for features and charged"),
    (
        Thief,
        "classes: the control sees no features",
        "the control of thief changes with the private features",
    ),
    (Eavesdropper, "classes: only reports matter", "it depends on something else that users hold"),
    (Dense, "classes: nothing dense is held", "held a dense matrix"),
    (Short, "classes: scores are finite", "a score for every class"),
    (Silent, "norms: everybody gets a norm", "must predict a norm for every user"),
    (Spare, "norms: what is claimed is charged", "spare claims"),
    (Reader, "private labels: labels are known from reports alone", "knows more of private labels"),
    (
        Hasty,
        "several labels: refused before anybody is asked",
        "users were asked about features, and nobody should have been",
    ),
    (Coy, "several labels: refused before anybody is asked", "it should say that it can"),
    (Peeking, "links: test links are not seen", "knows which test pairs are linked"),
    (Insisting, "volunteers: nobody but volunteers is needed", "users were asked about features"),
    (
        Restless,
        "volunteers: nobody but volunteers is needed",
        "restless gave other scores for the same volunteers",
    ),
]


@pytest.mark.parametrize(
    ("broken", "check", "words"), BROKEN, ids=[f"{broken.__name__}: {check}" for broken, check, _ in BROKEN]
)
def test_a_broken_method_is_seen(register, broken: type[Method], check, words):
    register(broken)
    suite = {each.name: each for each in method_checks(broken.name)}
    with pytest.raises(AssertionError, match=words):
        suite[check].run()


def test_all_that_fails_is_named(register):
    register(Greedy)
    with pytest.raises(AssertionError) as raised:
        check_method("greedy")
    title, *failed = str(raised.value).splitlines()
    assert title.startswith(f"greedy fails {len(failed)} of ")
    trials = [name for name in trials_of(Greedy(), {}) if "silent" not in name]
    assert [line.split(": greedy ")[0] for line in failed] == [
        f"{trial}{silent}: what is given is charged"
        for silent in ("", ", a third silent")
        for trial in trials
    ]


def test_the_runs_of_a_trial_are_shared(register):
    runs = []

    class Counted(Base):
        """Counts how often it learns."""

        def learn(self, job: Job) -> Outcome:
            runs.append(job.task)
            return super().learn(job)

    register(Counted)
    for check in method_checks("counted"):
        if check.name.startswith("classes:"):
            check.run()
    # The first, the same again, two of the control, and one from the reports alone.
    assert len(runs) == 5


def test_a_method_is_checked_with_volunteers_where_it_takes_them(register):
    register(Volunteering)
    named = {check.name for check in method_checks("volunteering")}
    told = [
        "the same seed gives the same scores",
        "the control sees no features",
        "nobody but volunteers is needed",
    ]
    assert {f"volunteers: {each}" for each in told} <= named
    check_method("volunteering")
    assert not [check for check in method_checks("volunteering", use=False) if "volunteers" in check.name]


def test_volunteers_are_not_seen_by_a_method_that_takes_none():
    graph, users = small_data()
    bare = type(users)(users.raw.features, users.raw.labels)
    job = make_job(Base(), with_panel(graph, bare, 5, 0), Nobody(), Trial())
    assert job.graph.panel is not None and begin(Base(), job).graph.panel is None
