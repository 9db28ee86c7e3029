import pytest
import torch

from graphveil.learn import as_rates, degree_rates, known_rates, with_known
from graphveil.learn.label_models import PRIOR_USERS, SHARE_WEIGHT, degree_probabilities
from tests.collectives import together

LABELS = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
TRAIN = torch.tensor([True, True, True, False])
KNOWN = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_the_rate_of_a_label_is_its_share_of_training_users_who_stand_beside_the_labels():
    assert with_known(LABELS, TRAIN).tolist() == KNOWN.tolist()
    assert known_rates(KNOWN).tolist() == pytest.approx([3 / 5, 2 / 5])


def test_what_arrives_is_divided_by_what_was_heard_of():
    """A user whom no label reaches has everybody's rates."""
    rates, reached = torch.tensor([0.6, 0.2]), torch.tensor([[0.3, 0.1, 0.4], [0, 0, 0]])
    expected = (reached[0, :2] + SHARE_WEIGHT * rates) / (0.4 + SHARE_WEIGHT)
    found = as_rates(reached, rates)
    assert found[0].tolist() == pytest.approx(expected.tolist())
    torch.testing.assert_close(found[1], rates)


def test_users_of_one_degree_share_a_row_of_rates():
    rows = degree_rates(KNOWN, torch.tensor([1, 1, 15, 1]))
    expected = [(2 + PRIOR_USERS * 3 / 5) / (2 + PRIOR_USERS), (1 + PRIOR_USERS * 2 / 5) / (2 + PRIOR_USERS)]
    assert rows[3].tolist() == pytest.approx(expected)
    assert rows[2].tolist() == pytest.approx(
        [PRIOR_USERS * 3 / 5 / (1 + PRIOR_USERS), PRIOR_USERS * 2 / 5 / (1 + PRIOR_USERS)]
    )


# Probabilities by degree, of one class a user


def test_users_of_one_degree_share_a_row_of_counts():
    labels = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    rows = degree_probabilities(labels, torch.tensor([1, 1, 15, 1, 15]))
    shares = [3 / 5, 2 / 5]
    assert rows[3].tolist() == pytest.approx(
        [(2 + PRIOR_USERS * shares[0]) / (2 + PRIOR_USERS), PRIOR_USERS * shares[1] / (2 + PRIOR_USERS)]
    )
    assert rows[4].tolist() == pytest.approx([PRIOR_USERS * shares[0] / (1 + PRIOR_USERS), 0.5])
    # A degree that no training user has gets the shares of the classes.
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
