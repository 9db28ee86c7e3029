"""LDP-GE's Fig. 1: what the document says of variances, and what it leaves out."""

import pytest

from graphveil.experiments.papers import FigureInput
from reproduce.figures.worst_variance import CASES, DEBIASED, EPSILONS, QUICK_EPSILONS, SILENCE, WAVE, compute


@pytest.fixture(scope="module")
def figure():
    return compute(FigureInput())


def line(figure, panel, label):
    return next(series for series in figure.panels[panel].series if series.label == label)


def means(series):
    return dict(zip(series.x, (each.mean for each in series.y), strict=True))


def test_every_mechanism_has_a_variance_a_bias_and_both_together(figure):
    assert [panel.y_label[:14] for panel in figure.panels] == ["max over x of "] * 3
    for panel in figure.panels:
        assert set(CASES) <= {series.label for series in panel.series}
        assert all(series.x == EPSILONS for series in panel.series)


def test_the_document_s_sentences_about_variances_hold(figure):
    wave = means(line(figure, 0, WAVE))
    pm, lp, mb = (means(line(figure, 0, label)) for label in ("PM", "LP", "MB"))
    assert all((wave[epsilon] < pm[epsilon]) == (epsilon <= 3.5) for epsilon in EPSILONS)
    assert all(wave[epsilon] < min(lp[epsilon], mb[epsilon]) for epsilon in EPSILONS)


def test_only_the_square_wave_as_it_is_is_biased(figure):
    for label in CASES:
        biases = means(line(figure, 1, label)).values()
        assert (min(biases) > 0.1) if label == WAVE else (set(biases) == {0.0}), label


def test_debiased_it_wins_nowhere_and_no_answer_at_all_stands_beside_the_errors(figure):
    debiased, pm = means(line(figure, 0, DEBIASED)), means(line(figure, 0, "PM"))
    assert all(debiased[epsilon] > pm[epsilon] for epsilon in EPSILONS)
    assert "Debiased, it has a smaller variance than the three others nowhere." in figure.findings
    assert set(means(line(figure, 2, SILENCE)).values()) == {1.0}
    assert figure.findings[-1] == "At ε = 0.1 to 1 that error is no smaller than that of no answer at all."


def test_quick_is_the_same_at_few_budgets(figure):
    quick = compute(FigureInput(quick=True))
    for label in CASES:
        known = means(line(figure, 0, label))
        assert means(line(quick, 0, label)) == {epsilon: known[epsilon] for epsilon in QUICK_EPSILONS}
