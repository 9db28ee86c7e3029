"""ldpge-raw: raw features through ldpge's pipeline, without any claim."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphveil import InputError
from graphveil.experiments import Experiment, run_experiment
from graphveil.graphs import from_arrays
from graphveil.methods import METHODS
from graphveil.methods.check import Trial, make_job, small_data
from graphveil.methods.method import tuned_settings
from graphveil.privacy import Nobody
from tests.methods.test_ldpge import dense_inverse

RAW, LDPGE = METHODS.find("ldpge-raw"), METHODS.find("ldpge")
SETTINGS = {"alpha": 0.2, "r": 0.3, "r_max": 1e-5}


def embedded(graph, raw, settings=SETTINGS):
    job = make_job(RAW, graph, Nobody(), Trial(settings))
    return RAW.embed(replace(job, raw=raw))


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_the_embedding_is_that_of_the_features_themselves(kind):
    graph, users = small_data()
    rows = np.asarray(csr_matrix(users.raw.rows()).todense(), dtype=np.float64)
    exact = dense_inverse(graph, 0.2, 0.3) @ rows
    found = embedded(graph, kind(rows))
    allowed = np.maximum(graph.degrees, 1)[:, None] ** 0.3 * 1e-5
    assert (np.abs(found - exact) <= allowed + 1e-6 * np.abs(exact)).all()


def test_features_are_in_units_of_their_public_range():
    random = np.random.default_rng(0)
    features = random.random((60, 20)) * 8 - 8
    graph, users = from_arrays(random.integers(0, 60, (200, 2)), features, np.arange(60) % 3, range=(-8, 4))
    exact = dense_inverse(graph, 0.2, 0.3) @ (features / 8)
    np.testing.assert_allclose(embedded(graph, users.raw.rows()), exact, atol=1e-3)


def test_it_reads_raw_features_and_claims_no_privacy():
    spec = Experiment.of("ldpge-raw", "town", runs=1, settings={"epochs": 2}, data_options={"users": 160})
    told = run_experiment(spec).to_dict()
    assert told["control"] is None
    assert told["privacy"]["raw"] == ["features"]
    with pytest.raises(InputError, match="ldpge-raw reports no features: leave epsilon out"):
        Experiment.of("ldpge-raw", "town", epsilon=1.0).check()


@pytest.mark.parametrize("task", ["node", "link"])
def test_it_has_the_settings_of_ldpge_but_for_reports(task):
    for data in ("cora", "citeseer", "pubmed", "facebook", "wikipedia", "elsewhere"):
        noisy, plain = (tuned_settings(each, data, task, "hds") for each in (LDPGE, RAW))
        assert plain == {key: value for key, value in noisy.items() if key not in ("k", "input_share")}
    assert set(LDPGE.settings.model_fields) - set(RAW.settings.model_fields) == {
        "input_share",
        "k",
        "norm_weight",
    }


def test_where_features_tell_much_it_learns_more_than_from_reports():
    settings = {"settings": {"epochs": 60, "alpha": 0.5}, "data_options": {"users": 400}}
    plain, noisy = (
        Experiment.of(name, "town", runs=1, control=False, **paid, **settings)
        for name, paid in (("ldpge-raw", {}), ("ldpge", {"epsilon": 0.01}))
    )
    assert run_experiment(plain).mean > run_experiment(noisy).mean + 0.1
