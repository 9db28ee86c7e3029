from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit import many_users
from graphveil.audit.answers import ReportRanges
from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import Deadline, LeakError, within
from graphveil.audit.many_users import (
    check_everybody,
    check_words,
    many_users_step,
    walk_calls,
    walked_candidate,
)
from graphveil.audit.reports import Version
from graphveil.audit.versions import AuditSchedule
from graphveil.channels import SeededBits
from graphveil.mechanisms import FeatureMechanism, mechanism


def _onebit(kind=FeatureMechanism):
    good = mechanism("onebit", epsilon=1.0, dims=3, range=(0, 1))
    return kind("test", good.claim, good.public, 3, 3, good.channels, 1.0)


def _step(mechanism):
    version = Version(mechanism, random_bits=SeededBits(1))
    return many_users_step(version, AuditSchedule.of(True, version.random_bits), mechanism)


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
def test_a_right_crowd_is_left_alone():
    step = _step(_onebit())
    assert step.leaks == () and not step.unfinished
    assert step.covers == ("16 numbers of users in one call from 1 to 262,147",)


def test_a_block_of_users_without_noise_is_found():
    class Block(FeatureMechanism):
        def randomize(self, private, random_bits=None):
            reports = super().randomize(private, random_bits)
            codes = reports.codes.copy()
            codes[9000:12000] = 0
            return replace(reports, codes=codes)

    version = Version(_onebit(Block), random_bits=SeededBits(1))
    with pytest.raises(LeakError, match="users in block 3 of 1,000"):
        check_everybody(version, ReportRanges.of(version.mechanism), np.zeros(3), 10_000)


def test_words_that_are_stretched_over_many_users_are_found():
    class Stretched(FeatureMechanism):
        def randomize(self, private, random_bits=None):
            reports = super().randomize(np.asarray(private)[:1500], random_bits)
            codes = np.resize(reports.codes, 3 * len(private))
            return replace(reports, indptr=np.arange(len(private) + 1) * 3, codes=codes)

    leaks = _step(_onebit(Stretched)).leaks
    assert "random words are used more than once" in leaks[0]
    with pytest.raises(LeakError, match="1,000 users draws 6 words a user, one for 6,000 users 1.5"):
        check_words(_onebit(Stretched), np.zeros(3), 6000, 2 * 3 * 1500)
    check_words(_onebit(), np.zeros(3), 6000, 2 * 3 * 6000)


def test_users_with_rows_of_their_own_are_few_where_rows_are_wide(monkeypatch):
    asked = []
    monkeypatch.setattr(many_users.Probe, "around", lambda version, users: asked.append(users))
    monkeypatch.setattr(many_users, "check_others", lambda probe: None)
    _step(mechanism("multibit", epsilon=1.0, dims=4096, range=(0, 1)))
    assert asked == [many_users.MAX_HELD // 4096]


SMALL = replace(AuditSchedule.of(True, SeededBits(1)), calls=(1, 2, 3, 64, 65, 1000))


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "krr", "link-rr", "blink", "ppm", "privunit"])
def test_right_calls_are_left_alone(name):
    candidate = Candidate.of(name)
    built = walked_candidate(candidate)
    row = np.asarray(built.extremes()[0])
    walk = walk_calls(Version(built, random_bits=SeededBits(3)), row, SMALL)
    assert walk.leaks == [] and walk.finished
    assert list(walk.sums) == [1, 2, 3, 64, 65, 1000]


def test_few_values_are_asked_all_of_them_and_at_a_small_budget():
    built = walked_candidate(Candidate.of("multibit", 4.0, 100))
    assert (built.shape.length, built.shape.dimensions, built.claim.epsilon) == (8, 8, 1.0)
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
        walk = walk_calls(Version(built, random_bits=SeededBits(3)), np.zeros(8), SMALL)
    assert not walk.finished and walk.leaks == []
    assert 0 < len(walk.sums) < len(SMALL.calls)
