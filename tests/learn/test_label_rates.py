import pytest
import torch

from graphveil.learn import as_rates, degree_rates, known_rates, with_known
from graphveil.learn.label_models import PRIOR_USERS, SHARE_WEIGHT

LABELS = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
TRAIN = torch.tensor([True, True, True, False])
KNOWN = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_who_is_known_stands_beside_the_labels():
    assert with_known(LABELS, TRAIN).tolist() == KNOWN.tolist()


def test_the_rate_of_a_label_is_its_share_of_training_users():
    assert known_rates(KNOWN).tolist() == pytest.approx([3 / 5, 2 / 5])


def test_what_arrives_is_divided_by_what_was_heard_of():
    reached = torch.tensor([[0.3, 0.1, 0.4]])
    expected = [
        (0.3 + SHARE_WEIGHT * 0.6) / (0.4 + SHARE_WEIGHT),
        (0.1 + SHARE_WEIGHT * 0.2) / (0.4 + SHARE_WEIGHT),
    ]
    assert as_rates(reached, torch.tensor([0.6, 0.2])).tolist()[0] == pytest.approx(expected)


def test_a_user_whom_no_label_reaches_has_everybody_s_rates():
    rates = torch.tensor([0.6, 0.2])
    torch.testing.assert_close(as_rates(torch.zeros(1, 3), rates)[0], rates)


def test_users_of_one_degree_share_a_row_of_rates():
    rows = degree_rates(KNOWN, torch.tensor([1, 1, 15, 1]))
    expected = [(2 + PRIOR_USERS * 3 / 5) / (2 + PRIOR_USERS), (1 + PRIOR_USERS * 2 / 5) / (2 + PRIOR_USERS)]
    assert rows[3].tolist() == pytest.approx(expected)
    assert rows[2].tolist() == pytest.approx(
        [PRIOR_USERS * 3 / 5 / (1 + PRIOR_USERS), PRIOR_USERS * 2 / 5 / (1 + PRIOR_USERS)]
    )
