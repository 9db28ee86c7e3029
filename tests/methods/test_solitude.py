"""solitude: links that are public, links that are reported, and links that would not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.learn import BACKBONES
from graphveil.methods import METHODS, Job
from graphveil.methods.check import small_data
from graphveil.methods.job import public_part
from graphveil.privacy import Nobody
from graphveil.privacy.answering import Recorder

METHOD = METHODS.find("solitude")


def asked(*args, **options):
    """A job whose users have the budget for it."""
    return booked(*args, **options)[0]


def booked(link_epsilon=4.0, backbone="gcn", max_memory=None, label_epsilon=None, **settings):
    """The same, and their books."""
    graph, users = small_data(0)
    public = public_part(
        graph, private_labels=label_epsilon is not None, private_links=link_epsilon is not None
    )
    terms = {"link_epsilon": link_epsilon, "label_epsilon": label_epsilon, "backbone": backbone}
    given = METHOD.settings.of({"epochs": 4, **settings})
    job = Job.of(public, Nobody(), given, 3, epsilon=1.0, max_memory=max_memory, **terms)
    ledger = METHOD.questions(job).open_ledger(users)
    return replace(job, users=users.answering(ledger, seed=3)), ledger


@pytest.mark.parametrize(
    ("link_epsilon", "more", "spent"),
    [
        (2.5, {}, {"features": 1.0, "links": 2.5}),
        (None, {}, {"features": 1.0}),
        (6.0, {"label_epsilon": 2.0}, {"features": 1.0, "links": 6.0, "label": 2.0}),
    ],
)
def test_features_links_and_labels_are_charged_apart(link_epsilon, more, spent):
    job, ledger = booked(link_epsilon, **more)
    METHOD.run(job)
    assert {charge.subject: ledger.total(charge.subject).epsilon for charge in ledger.charges} == spent
    assert ledger.total().epsilon == sum(spent.values())


def test_the_graph_that_it_gets_has_no_links_where_they_are_private():
    job = asked()
    assert job.graph.edge_count == 0
    plans = Recorder(job.users)
    METHOD.run(replace(job, users=plans))
    assert [reports.mechanism.subject for reports in plans.answers] == ["features", "links"]


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("link_epsilon", [None, 6.0])
def test_every_backbone_learns(backbone, link_epsilon):
    scores = METHOD.run(asked(link_epsilon, backbone)).scores
    assert scores.shape == (150, 3) and np.isfinite(scores).all()


def test_links_that_are_hardly_noisy_give_what_public_ones_give():
    """At ε = 20 nothing is wrong, and without a threshold nothing is shrunk."""
    public = METHOD.run(asked(None, hops=2)).scores
    private = METHOD.run(asked(20.0, hops=2, lambda2=0.0, graph_lr=0.0)).scores
    assert np.allclose(public, private, atol=1e-4)


def test_steps_of_the_weights_change_the_result():
    still, moving = (METHOD.run(asked(6.0, graph_lr=rate, alternate=1)).scores for rate in (0.0, 0.03))
    assert not np.allclose(still, moving)


def test_where_no_pair_is_plausible_the_graph_is_empty():
    outcome = METHOD.run(asked(4.0, lambda2=20.0))
    assert " 0 kept" in outcome.detail
    assert np.isfinite(outcome.scores).all()


def test_links_that_do_not_fit_are_refused_before_anything_is_asked():
    job, ledger = booked(4.0, max_memory=1e-6)
    with pytest.raises(InputError, match=r"GB .*: give a larger link_epsilon"):
        METHOD.run(job)
    assert not ledger.charges
