import pytest

from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.independence import independent, never_repeated
from graphveil.mechanisms import mechanism


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_independent_users_are_not_accused(epsilon):
    joint = JointDistribution.of(mechanism("multibit", epsilon=epsilon, dims=3, range=(0, 1), sampled=2))
    assert independent(joint) == []


@pytest.mark.statistical  # 32 of 64 reports of 16 codes would have to agree by chance
def test_long_reports_differ():
    assert never_repeated(mechanism("privunit", epsilon=1.0, dims=16, range=(0, 1))) == []


def test_reports_that_are_nearly_certain_may_agree():
    built = mechanism("multibit", epsilon=20.0, dims=1, range=(0, 1), sampled=1)
    assert independent(JointDistribution.of(built)) == []
    assert never_repeated(built) == []
