from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import Deadline, within
from graphveil.audit.many_users import walk_calls, walked_candidate
from graphveil.audit.versions import AuditSchedule
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism

SMALL = replace(AuditSchedule.of(True, SeededWords(1)), calls=(1, 2, 3, 64, 65, 1000))


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "krr", "link-rr", "blink", "ppm", "privunit"])
def test_right_calls_are_left_alone(name):
    candidate = Candidate.of(name)
    built = walked_candidate(candidate)
    row = np.asarray(built.extremes()[0])
    walk = walk_calls(built, row, SMALL, SeededWords(3))
    assert walk.leaks == [] and walk.finished
    assert list(walk.sums) == [1, 2, 3, 64, 65, 1000]


def test_few_values_are_asked_all_of_them_and_at_a_small_budget():
    built = walked_candidate(Candidate.of("multibit", 4.0, 100))
    assert (built.report_length, built.dimensions, built.claim.epsilon) == (8, 8, 1.0)
    assert walked_candidate(Candidate.of("krr", 4.0)).claim.epsilon == 0.125
    own = mechanism("krr", epsilon=3.0, classes=3)
    assert walked_candidate(Candidate.of(own)) is own


def test_calls_end_when_time_is_over_and_keep_what_was_seen():
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 1.0
            return self.now

    built = walked_candidate(Candidate.of("onebit"))
    with within(Deadline(40.0, Clock())):
        walk = walk_calls(built, np.zeros(8), SMALL, SeededWords(3))
    assert not walk.finished and walk.leaks == []
    assert 0 < len(walk.sums) < len(SMALL.calls)
