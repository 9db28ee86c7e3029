"""An adversary writes a method, and tries to reach what users hold by what a method is given."""

from dataclasses import fields, replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError, PrivacyError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.methods import METHODS


def public(what):
    return [name for name in dir(what) if not name.startswith("_")]


@pytest.fixture(scope="module")
def ready():
    spec = Experiment.of("base", "town", epsilon=1.0, runs=1, data_options={"users": 160})
    return open_unit(RunUnit(spec))


def test_the_users_of_a_method_offer_one_thing_and_the_graph_holds_no_test_labels(ready):
    assert public(ready.job.users) == ["report"]
    assert (ready.job.graph.labels[ready.graph.test] == -1).all()
    with pytest.raises(AttributeError):
        ready.job.users.declare(1e9)
    with pytest.raises(AttributeError):
        _ = ready.job.users.ledger
    with pytest.raises(AttributeError):
        ready.job.users.ledger = gv.Ledger(160, 1e9)


@pytest.mark.parametrize("name", METHODS.own())
def test_a_job_holds_neither_users_nor_books(name):
    epsilon = 1.0 if METHODS.find(name).can.asks else None
    spec = Experiment.of(name, "town", epsilon=epsilon, runs=1, data_options={"users": 160})
    jobs = {part: open_unit(RunUnit(spec, part)).job for part in ("method", "control")}
    held = {
        (part, field.name): getattr(job, field.name) for part, job in jobs.items() for field in fields(job)
    }
    assert [place for place, value in held.items() if isinstance(value, gv.Users | gv.Ledger)] == []
    given = [part for part, job in jobs.items() if job.raw is not None]
    assert given == (["method", "control"] if name in ("ldpge-raw", "nonprivate") else [])


@pytest.mark.parametrize("name", ["ldpge-raw", "nonprivate"])
def test_what_reads_raw_features_reads_what_it_is_given_and_nothing_else(name, ready):
    with pytest.raises(InputError, match="raw features, and these were not given"):
        METHODS.find(name).learn(replace(ready.job, raw=None))


def test_before_anybody_declares_a_budget_nobody_answers():
    with pytest.raises(PrivacyError, match="nobody has declared a budget"):
        gv.privacy.Nobody().report(gv.Plan(mechanism="krr", epsilon=1.0, classes=2))
    _, users = gv.load("town", seed=0, users=160)
    assert not hasattr(users, "report")
    assert isinstance(users.raw.labels, np.ndarray)
