import numpy as np
import pytest
from scipy.stats import ttest_rel

from graphveil.experiments.statistics import Summary, bootstrap, paired_gain, verdict


def test_a_bootstrap_interval_holds_its_mean_and_is_the_same_every_time():
    values = [0.8, 0.82, 0.79, 0.81, 0.83]
    summary = bootstrap(values)
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.low < summary.mean < summary.high
    assert bootstrap(values) == summary


def test_equal_runs_have_an_interval_of_no_width():
    assert bootstrap([0.5, 0.5]) == Summary(0.5, 0.5, 0.5)


def test_one_run_has_no_interval():
    assert bootstrap([0.7]) == Summary(0.7, None, None)
    assert paired_gain([0.7], [0.6]).low is None


def test_the_gain_is_the_paired_t_interval():
    values, control = [0.8, 0.85, 0.83, 0.9], [0.7, 0.8, 0.81, 0.79]
    gain = paired_gain(values, control)
    interval = ttest_rel(values, control).confidence_interval(0.95)
    assert (gain.low, gain.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert gain.mean == pytest.approx(np.mean(values) - np.mean(control))


@pytest.mark.parametrize(
    ("gain", "runs", "words"),
    [
        (Summary(0.1, 0.09, 0.11), 10, "features at ε = 2 add 10.0 ± 1.0 points over the control"),
        (
            Summary(0.1, 0.09, 0.11),
            5,
            "features at ε = 2 add 10.0 ± 1.0 points over the control (5 runs are few)",
        ),
        (
            Summary(0.001, -0.005, 0.007),
            12,
            "features at ε = 2 add 0.1 ± 0.6 points over the control: nothing measurable",
        ),
        (Summary(-0.02, -0.03, -0.01), 10, "features at ε = 2 cost 2.0 ± 1.0 points against the control"),
        (
            Summary(0.05, None, None),
            1,
            "features at ε = 2 add 5.0 points over the control in one run: no verdict from one run",
        ),
    ],
)
def test_the_verdict_says_what_was_bought(gain, runs, words):
    assert verdict(gain, 2.0, runs) == words
