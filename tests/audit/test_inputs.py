from functools import partial

import numpy as np

from graphveil.audit.candidate import Candidate
from graphveil.audit.reports import USERS, CountedBits, Probe
from graphveil.mechanisms import names
from graphveil.suites import Check, run_checks


def test_batches_have_equal_shapes_and_are_valid():
    run_checks("batches", [Check(name, partial(check_batches, name)) for name in names()])


def check_batches(name):
    candidate = Candidate.of(name, 1.0)
    probe = Probe.of(candidate)
    shapes = {rows.shape for rows in probe.batches.values()}
    assert len(shapes) == 1
    assert {shape[0] for shape in shapes} == {USERS}
    for rows in probe.batches.values():
        candidate.build().randomize(rows[:10])


def test_rows_between_grid_points_are_tried():
    rows = Probe.of(Candidate.of("piecewise", 1.0)).batches["rows between grid points"]
    assert not np.isin(rows * 64, np.arange(65)).any()


def test_words_are_counted():
    random_bits = CountedBits(1)
    assert np.array_equal(random_bits.take(3), CountedBits(1).take(3))
    random_bits.below(10, 5)
    assert random_bits.taken == 8
