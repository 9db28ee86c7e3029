"""What each check finds is shown on the broken mechanisms of tests/faults; here, that sound ones are left alone."""

import pytest

from graphveil.audit.behaviour import behaviour_step
from graphveil.audit.candidate import Candidate
from graphveil.audit.drawn_reports import same_reports
from graphveil.mechanisms import mechanism, names


@pytest.mark.statistical  # a false alarm in a million each
@pytest.mark.parametrize("name", names())
def test_sound_mechanisms_are_not_accused(name):
    assert behaviour_step(Candidate.of(name, 8.0), None).leaks == ()


@pytest.mark.parametrize("name", ["multibit", "laplace"])
def test_sound_mechanisms_are_not_accused_for_a_range_of_their_own(name):
    built = mechanism(name, epsilon=1.0, dims=5, range=(-1000, -3))
    assert behaviour_step(Candidate.of(built), None).leaks == ()


def test_reports_are_the_same_if_they_say_the_same():
    built = mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
    reports = built.randomize([[0, 1, 1, 0]])
    assert same_reports(reports, reports.row(0))
    assert not same_reports(reports, built.randomize([[0, 1, 1, 0]] * 2))
