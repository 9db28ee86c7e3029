import pytest
import torch

from graphveil.learn.label_models import PRIOR_USERS, degree_probabilities
from tests.collectives import together


def test_users_of_one_degree_share_a_row_of_counts():
    labels = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    rows = degree_probabilities(labels, torch.tensor([1, 1, 15, 1, 15]))
    shares = [3 / 5, 2 / 5]
    assert rows[3].tolist() == pytest.approx(
        [(2 + PRIOR_USERS * shares[0]) / (2 + PRIOR_USERS), PRIOR_USERS * shares[1] / (2 + PRIOR_USERS)]
    )
    assert rows[4].tolist() == pytest.approx([PRIOR_USERS * shares[0] / (1 + PRIOR_USERS), 0.5])


def test_a_degree_that_no_training_user_has_gets_the_shares_of_the_classes():
    labels = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    assert degree_probabilities(labels, torch.tensor([0, 1000]))[1].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_training_users_of_all_workers_count():
    """One worker has users of degree 1 alone, and none of the class that the other's users of degree 1 have."""
    parts = [
        (torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([1, 1])),
        (torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([1, 15])),
    ]
    whole = degree_probabilities(*(torch.cat(each) for each in zip(*parts, strict=True)))
    found = torch.cat(
        together(2, lambda collective: degree_probabilities(*parts[collective.rank], collective))
    )
    torch.testing.assert_close(found, whole)
