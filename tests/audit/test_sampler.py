import numpy as np
import pytest

from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.sampler import sampler_step
from graphveil.channels import TOTAL, Channel, Claim, SeededWords
from graphveil.mechanisms import LevelMechanism, mechanism


def _joint(**settings):
    return JointDistribution.of(
        mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1), sampled=2, **settings)
    )


@pytest.mark.statistical  # a false alarm in a million; the seed is fixed
def test_a_right_sampler_passes_and_proves_most_of_its_epsilon():
    step = sampler_step(_joint(), 200_000, SeededWords(3))
    assert step.leaks == ()
    assert 0.9 < float(step.seen.rpartition(" ")[2]) <= 1.0


@pytest.mark.statistical  # under one in a million in 30 samplers; the seeds are fixed
def test_right_samplers_are_not_accused():
    joint = JointDistribution.of(mechanism("krr", epsilon=1.0, classes=4))
    assert not any(sampler_step(joint, 2_000, SeededWords(seed)).leaks for seed in range(30))


def test_a_small_bias_is_found():
    joint = _joint()
    draw = joint.draw

    def biased(index, draws, words):
        counts = draw(index, draws, words)
        moved = counts[0] // 20
        return (
            counts
            + np.eye(len(counts), dtype=np.int64)[1] * moved
            - np.eye(len(counts), dtype=np.int64)[0] * moved
        )

    object.__setattr__(joint, "draw", biased)
    leaks = sampler_step(joint, 1_000_000, SeededWords(3)).leaks
    assert any("the sampler does not draw what the table says" in leak for leak in leaks)


def test_an_impossible_report_is_found():
    table = np.array([[TOTAL, 0], [TOTAL // 2, TOTAL // 2]])
    channel = Channel("half", table, np.arange(2.0), np.arange(2.0), Claim(1.0, 0.5))
    joint = JointDistribution.of(LevelMechanism("half", Claim(1.0, 0.5), channel, "level"))
    draw = joint.draw

    def impossible(index, draws, words):
        counts = draw(index, draws, words)
        return counts + (np.array([-1, 1]) if joint.shares[index][1] == 0 else 0)

    object.__setattr__(joint, "draw", impossible)
    (leak,) = sampler_step(joint, 100_000, SeededWords(3)).leaks
    assert "came 1 times in 100,000" in leak
