import numpy as np
import pytest

from graphveil.audit.candidate import Candidate
from graphveil.audit.reports import USERS, CountedWords, Probe
from graphveil.mechanisms import names


@pytest.mark.parametrize("name", names())
def test_batches_have_equal_shapes_and_are_valid(name):
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
    words = CountedWords(1)
    assert np.array_equal(words.take(3), CountedWords(1).take(3))
    words.below(10, 5)
    assert words.taken == 8
