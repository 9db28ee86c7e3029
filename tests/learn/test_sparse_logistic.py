import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from graphveil.learn.attribute_analysis import Problem, solve_path


def dense_problem(classes=3, scale=1.0):
    random = np.random.default_rng(0)
    rows = random.standard_normal((120, 10)) + 2
    labels = (rows[:, 0] + rows[:, 1] + random.standard_normal(120) > 4).astype(int)
    if classes == 3:
        labels[rows[:, 2] + random.standard_normal(120) > 3] = 2
    rows *= scale
    matrix = torch.from_numpy(rows)
    problem = Problem(lambda w: matrix @ w, lambda v: matrix.T @ v, 10, torch.from_numpy(labels))
    return problem, rows, labels


def objective(rows, labels, weights, intercept, strength):
    scores = rows @ weights + intercept
    chosen = scores[np.arange(len(labels)), labels]
    return float(np.mean(np.logaddexp.reduce(scores, 1) - chosen) + strength * np.abs(weights).sum())


@pytest.mark.parametrize(("share", "scale"), [(0.5, 1000.0), (0.1, 1.0), (0.02, 1000.0)])
def test_it_reaches_the_optimum_of_scikit_learn(share, scale):
    problem, rows, labels = dense_problem(scale=scale)
    strength = share * problem.strongest
    (model,) = solve_path(problem, [strength], 500)
    # saga wants rows of size 1; the objective is the same with the weights scaled back.
    settings = {"C": scale / (strength * len(labels)), "l1_ratio": 1.0}
    other = LogisticRegression(solver="saga", tol=1e-6, max_iter=20000, **settings).fit(rows / scale, labels)
    found = objective(rows, labels, model.weights.numpy(), model.intercept.numpy(), strength)
    best = objective(rows, labels, other.coef_.T / scale, other.intercept_, strength)
    assert found == pytest.approx(best, abs=1e-5)
    np.testing.assert_allclose(model.weights.numpy() * scale, other.coef_.T, atol=2e-3)


def test_at_the_strongest_penalty_all_weights_are_0_and_just_below_one_is_not():
    problem, _, labels = dense_problem()
    above, below = solve_path(problem, [problem.strongest * 1.001, problem.strongest * 0.95], 200)
    assert not above.weights.any() and below.weights.any()
    np.testing.assert_allclose(
        above.intercept.softmax(0).numpy(), np.bincount(labels) / len(labels), atol=1e-6
    )


def test_a_path_ends_where_a_start_from_nothing_does():
    problem, _, _ = dense_problem(classes=2)
    strengths = [problem.strongest / 2**k for k in range(1, 5)]
    *_, last = solve_path(problem, strengths, 500)
    (alone,) = solve_path(problem, strengths[-1:], 1000)
    np.testing.assert_allclose(last.weights.numpy(), alone.weights.numpy(), atol=1e-3)


def test_scores_are_those_of_the_rows_and_the_step_is_a_bound():
    problem, rows, _ = dense_problem()
    (model,) = solve_path(problem, [problem.strongest / 4], 30)
    np.testing.assert_allclose(model.scores.numpy(), rows @ model.weights.numpy())
    problem, rows, labels = dense_problem()
    largest = np.linalg.norm(rows - rows.mean(0), 2) ** 2 / len(labels)
    assert 1 / problem.step == pytest.approx(0.55 * largest, rel=1e-3)
