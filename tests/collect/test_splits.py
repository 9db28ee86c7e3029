"""Who is asked for a label."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.collect.public_graph import AskedLabels
from graphveil.errors import InputError

LABELS = np.array([0, 1, -1, -1, -1, -1, -1, -1])


def test_enrolled_users_without_a_known_label_are_asked_and_known_labels_score():
    split = AskedLabels((0, 2, 3, 4, 5, 6, 7)).draw(LABELS, 3)
    assert int(split.train.sum()) == 4 and int(split.validation.sum()) == 2
    assert np.flatnonzero(split.train | split.validation).tolist() == [2, 3, 4, 5, 6, 7]
    assert np.flatnonzero(split.test).tolist() == [0, 1]


def test_who_trains_does_not_depend_on_a_label():
    others = np.where(LABELS < 0, -1, 1 - LABELS)
    one, other = (AskedLabels(tuple(range(8))).draw(labels, 3) for labels in (LABELS, others))
    assert one.train.tolist() == other.train.tolist()
    assert one.validation.tolist() == other.validation.tolist()


def test_too_few_to_ask_are_refused():
    with pytest.raises(InputError, match="1 enrolled users have a label that the server does not know"):
        AskedLabels((0, 2)).draw(LABELS, 0)
