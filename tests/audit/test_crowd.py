from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit import many_users
from graphveil.audit.many_users import everybody_alike, many_users_step, words_of_their_own
from graphveil.audit.probability_ranges import ReportRanges
from graphveil.audit.versions import AuditSchedule
from graphveil.channels import SeededWords
from graphveil.mechanisms import FeatureMechanism, mechanism


def _onebit(kind=FeatureMechanism):
    good = mechanism("onebit", epsilon=1.0, dims=3, range=(0, 1))
    return kind("test", good.claim, good.public, 3, 3, good.channels, 1.0)


def _step(mechanism):
    words = SeededWords(1)
    return many_users_step(mechanism, None, words, AuditSchedule.of(True, words), mechanism)


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
def test_a_right_crowd_is_left_alone():
    step = _step(_onebit())
    assert step.leaks == () and not step.unfinished
    assert step.covers == ("16 numbers of users in one call from 1 to 262,147",)


def test_a_block_of_users_without_noise_is_found():
    class Block(FeatureMechanism):
        def randomize(self, private, words=None):
            reports = super().randomize(private, words)
            codes = reports.codes.copy()
            codes[9000:12000] = 0
            return replace(reports, codes=codes)

    (leak,) = everybody_alike(ReportRanges.of(_onebit(Block)), np.zeros(3), 10_000, SeededWords(1))
    assert "block 3 of 1000 users" in leak


def test_words_that_are_stretched_over_many_users_are_found():
    class Stretched(FeatureMechanism):
        def randomize(self, private, words=None):
            reports = super().randomize(np.asarray(private)[:1500], words)
            codes = np.resize(reports.codes, 3 * len(private))
            return replace(reports, indptr=np.arange(len(private) + 1) * 3, codes=codes)

    leaks = _step(_onebit(Stretched)).leaks
    assert "random words are used more than once" in leaks[0]
    (leak,) = words_of_their_own(_onebit(Stretched), np.zeros(3), 6000, 2 * 3 * 1500)
    assert "1,000 users draws 6 words a user, one for 6,000 users 1.5" in leak
    assert words_of_their_own(_onebit(), np.zeros(3), 6000, 2 * 3 * 6000) == []


def test_users_with_rows_of_their_own_are_few_where_rows_are_wide(monkeypatch):
    asked = []
    monkeypatch.setattr(many_users.Probe, "around", lambda built, public, users: asked.append(users))
    monkeypatch.setattr(many_users, "alone", lambda probe: [])
    _step(mechanism("multibit", epsilon=1.0, dims=4096, range=(0, 1)))
    assert asked == [many_users.MAX_HELD // 4096]
