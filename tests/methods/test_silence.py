"""What methods make of users who do not answer, where it shows inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphveil.denoise import KProp
from graphveil.errors import InputError
from graphveil.graphs import from_arrays
from graphveil.linear import weighted_mean_matrix
from graphveil.methods import METHODS, Job
from graphveil.methods.base import BaseSettings
from graphveil.methods.method import with_questions
from graphveil.methods.private_targets import ReportedNorms, with_norms, with_private_labels
from graphveil.privacy import Nobody
from graphveil.privacy.answering import Recorder
from tests.methods.test_norms import data

BASE = METHODS.find("base")


def job_of(who, **options):
    """A job whose users answer where it is true."""
    graph, users = data(40)
    job = Job.of(graph, Nobody(), BaseSettings.of({"epochs": 3}), 3, epsilon=1.0, **options)
    job = with_questions(BASE, job)
    ledger = job.questions.open_ledger(users)
    return replace(job, users=users.answering(ledger, seed=3, who=who))


def test_labels_of_silent_users_are_not_known_and_train_nobody():
    who = np.arange(40) % 2 == 0
    job = job_of(who, label_epsilon=2.0)
    after = with_private_labels(job).graph
    known = job.graph.train | job.graph.validation
    assert np.array_equal(after.train | after.validation, known & who)
    assert np.array_equal(after.labels >= 0, known & who)
    with pytest.raises(InputError, match="base needs train users with a label"):
        BASE.run(job_of(np.zeros(40, dtype=bool), label_epsilon=2.0))


def test_norms_of_silent_users_are_unknown_and_without_any_everybody_gets_the_middle():
    who = np.arange(40) % 2 == 0
    job = job_of(who, norm_epsilon=8.0)
    norms, everybody = with_norms(job).norms, with_norms(job_of(None, norm_epsilon=8.0)).norms
    known = (job.graph.train | job.graph.validation) & who
    assert np.array_equal(norms.known, known)
    assert np.array_equal(norms.values[known], everybody.values[known])
    assert norms.centre == pytest.approx(
        np.clip(everybody.values[job.graph.train & who].mean(), 0, norms.bound)
    )
    job = job_of(np.zeros(40, dtype=bool), norm_epsilon=8.0)
    norms = with_norms(job).norms
    assert isinstance(norms, ReportedNorms)
    assert (norms.centre, norms.spread) == (norms.bound / 2, norms.bound)
    outcome = BASE.run(job_of(np.zeros(40, dtype=bool), norm_epsilon=8.0))
    assert (outcome.norms == norms.centre).all()


def test_flexprop_averages_over_those_with_a_weight():
    graph, _ = from_arrays([[0, 1], [0, 2], [1, 2]], np.eye(4), [0, 1, 0, 1], range=(0, 1), seed=0)
    weights = np.array([1.0, 0.0, 1.0, 0.0])
    rows = (KProp(1).operator(weighted_mean_matrix(graph, weights)) @ torch.eye(4)).numpy()
    assert rows[:3].tolist() == [[0.5, 0, 0.5, 0]] * 3
    # Nobody around has a weight: nothing arrives.
    assert rows[3].tolist() == [0, 0, 0, 0]


def test_silent_users_are_asked_in_every_round():
    togl = METHODS.find("togl")
    graph, users = data(40)
    settings, terms = togl.settings.of({"epochs": 2, "pool": "top"}), {"mechanism_options": {"sampled": 1}}
    job = Job.of(graph, Nobody(), settings, 3, epsilon=2.0, mechanism="multibit", **terms)
    job = with_questions(togl, job)
    ledger = job.questions.open_ledger(users)
    who = np.arange(40) % 3 != 0
    asked = Recorder(users.answering(ledger, seed=3, who=who))
    togl.run(replace(job, users=asked))
    assert [reports.places.tolist() for reports in asked.answers] == [np.flatnonzero(who).tolist()] * 2
    assert ledger.spent.tolist() == pytest.approx([2.0] * 40)
