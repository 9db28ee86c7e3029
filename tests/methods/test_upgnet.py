import numpy as np
import pytest
import torch

from graphveil.denoise import HOA, NFR
from graphveil.errors import InputError
from graphveil.learn import Topology
from graphveil.learn.inputs import report_scale
from graphveil.linear import Composition, SparseMatrix
from graphveil.methods import METHODS, feature_plan
from graphveil.methods.check import Trial, declared, learn, make_job, small_data
from graphveil.methods.upgnet import _code, _hoa_first, _nfr_first
from tests.methods.suite import chosen_trials, run_trial
from tests.refusals import not_refused

METHOD = METHODS.find("upgnet")


def asked(mechanism="multibit", **settings):
    """A job whose users have answered, and their answers."""
    graph, users = small_data()
    trial = Trial(settings, options={"mechanism": mechanism})
    job = make_job(METHOD, graph, declared(METHOD, graph, users, trial)[0], trial)
    return job, job.users.report(feature_plan(job))


def centred(reports):
    estimate = reports.estimate()
    return torch.from_numpy(estimate.dense() - estimate.offset).float()


def hops(job, count):
    return HOA(count).operator(Topology(job.graph).unlooped)


@pytest.mark.parametrize("mechanism", ["multibit", "piecewise", "square-wave"])
def test_n_h_is_hoa_of_nfr_of_the_reports(mechanism):
    job, reports = asked(mechanism, tau=0.5, hops=3)
    inputs = _nfr_first(job, reports, Topology(job.graph))
    assert isinstance(inputs, Composition) and isinstance(inputs.inner, SparseMatrix)
    expected = hops(job, 3) @ NFR(0.5 * reports.mechanism.largest)(centred(reports))
    torch.testing.assert_close(
        inputs.to_dense(), expected * report_scale(reports.mechanism), rtol=1e-4, atol=1e-6
    )


def test_the_group_lasso_shrinks_columns_by_a_share_of_the_norm_that_they_have_in_expectation():
    job, reports = asked(regularizer="group-lasso", tau=0.5, hops=1)
    rows = centred(reports)
    norms = rows.norm(dim=0)
    spread, answers = reports.mechanism.spread, len(reports.estimate().values) / rows.shape[1]
    left = (1 - 0.5 * spread * answers**0.5 / norms).clamp_min(0)
    assert 0 < float(left.mean()) < 1
    expected = hops(job, 1) @ (left * rows) * report_scale(reports.mechanism)
    inputs = _nfr_first(job, reports, Topology(job.graph))
    torch.testing.assert_close(inputs.to_dense(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 6])
def test_h_n_is_nfr_of_hoa_of_the_reports(count):
    job, reports = asked(order="H-N", tau=0.5, hops=count)
    inputs = _hoa_first(job, reports, Topology(job.graph))
    threshold = 0.5 * reports.mechanism.largest / job.graph.degrees.mean() ** count
    expected = NFR(threshold)(hops(job, count) @ centred(reports)) * report_scale(reports.mechanism)
    got = inputs.to_dense() if isinstance(inputs, SparseMatrix) else inputs
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)


def test_the_authors_program_by_hand():
    job, reports = asked(variant="code", hops=2)
    dense = Topology(job.graph).mean @ centred(reports)
    dense = torch.where(dense.abs() > 2, dense - dense.sign(), 0)
    assert (dense != 0).any()
    degrees = np.maximum(job.graph.degrees, 1).astype(float)
    matrix = np.zeros((job.graph.node_count,) * 2)
    rows, columns = job.graph.edge_list()
    matrix[rows, columns] = degrees[rows] ** -1.5 * degrees[columns] ** -0.5
    matrix = torch.from_numpy(matrix).float()
    expected = (matrix @ dense + matrix @ matrix @ dense) / 2 * report_scale(reports.mechanism)
    torch.testing.assert_close(
        _code(job, reports, Topology(job.graph)).to_dense(), expected, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("order", ["N-H", "H-N"])
def test_adaptive_residuals_take_the_place_of_hoa(order):
    """The iteration by hand, in units of the norm that a report has in expectation."""
    job, reports = asked(order=order, tau=0.5, hops=2, aggregator="adaptive", residual_weight=0.2)
    mechanism, topology = reports.mechanism, Topology(job.graph)
    unit = mechanism.spread * np.sqrt(mechanism.shape.length)
    matrix, own = topology.gcn.to_dense(), centred(reports)
    if order == "N-H":
        own = NFR(0.5 * mechanism.largest)(own)
    reached = own
    for _ in range(2):
        away = matrix @ reached - own
        kept = (1 - unit * 0.125 / away.norm(dim=1, keepdim=True)).clamp_min(0)
        reached = own + kept * away
    if order == "H-N":
        reached = NFR(0.5 * mechanism.largest / job.graph.degrees.mean() ** 2)(reached)
    inputs = (_nfr_first if order == "N-H" else _hoa_first)(job, reports, topology)
    torch.testing.assert_close(inputs, reached * report_scale(mechanism), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("upgnet"))
def test_every_form_of_it_passes_the_suite(name, settings, trial):
    run_trial(name, settings, trial)


def test_with_multibit_the_threshold_only_scales_the_input():
    graph, users = small_data()
    scale = 2.0
    thresholded = learn(METHOD, graph, users, Trial({"tau": 0.5, "input_share": scale}))
    rescaled = learn(METHOD, graph, users, Trial({"tau": 0.0, "input_share": scale / 2}))
    np.testing.assert_allclose(thresholded.scores, rescaled.scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("regularizer", ["dropout", "weight-lasso"])
def test_dropout_of_reports_and_the_group_lasso_on_weights_change_the_training(regularizer):
    graph, users = small_data()
    plain = learn(METHOD, graph, users, Trial({"regularizer": "off"}))
    changed = learn(METHOD, graph, users, Trial({"regularizer": regularizer, "tau": 0.5}))
    assert not np.allclose(plain.scores, changed.scores)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"order": "H-N"}, r"order H-N .* 150 x 600 numbers, .* GB, above the 0.0001 GB allowed"),
        ({"aggregator": "adaptive"}, r"the aggregator adaptive .* 150 x 600 .* or take another aggregator"),
    ],
)
def test_what_is_dense_is_refused_above_the_allowed_memory_before_anybody_is_asked(settings, words):
    graph, users = small_data()
    trial = Trial(settings, label_epsilon=1.0, options={"max_memory": 1e-4})
    asked_users, ledger = declared(METHOD, graph, users, trial)
    with pytest.raises(InputError, match=words):
        METHOD.run(make_job(METHOD, graph, asked_users, trial))
    assert ledger.charges == ()


def test_what_does_not_go_together_is_refused():
    graph, users = small_data()
    wrong = [
        ({"order": "H-N", "regularizer": "dropout"}, "the regularizer dropout is for order N-H"),
        (
            {"variant": "code", "regularizer": "off"},
            "the regularizer off is for order N-H as the paper has it",
        ),
        ({"regularizer": "dropout", "tau": 1.0}, "tau = 1 drops every report"),
        ({"aggregator": "adaptive", "regularizer": "dropout"}, "not linear, which dropout of reports needs"),
        ({"aggregator": "adaptive", "variant": "code"}, "not linear, which variant code needs"),
    ]
    failed = not_refused(lambda settings: learn(METHOD, graph, users, Trial(settings)), wrong)
    assert not failed, failed


def test_countless_hops_leave_no_threshold():
    job, reports = asked(order="H-N", hops=1000)
    inputs = _hoa_first(job, reports, Topology(job.graph))
    assert torch.isfinite(inputs if isinstance(inputs, torch.Tensor) else inputs.to_dense()).all()
