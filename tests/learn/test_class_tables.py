import numpy as np
import pytest
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from graphveil.errors import InputError
from graphveil.learn.attribute_analysis import chi_square, class_tables, mutual_information, table_scores
from tests.learn.analysis import SILENT, plain_values, setting
from tests.together import each


def plain_bins(values, bins):
    """Bin k ends with the value of rank ⌈nk/bins⌉, which belongs to it."""
    ranks = np.ceil(len(values) * np.arange(1, bins) / bins).astype(int) - 1
    return np.searchsorted(np.sort(values)[ranks], values, side="left")


@pytest.mark.parametrize(
    ("name", "hops", "counts"),
    [("multibit", 2, [10]), ("multibit", 0, [2, 5, 10]), ("piecewise", 3, [7]), ("laplace", 1, [3])],
)
def test_scores_are_those_of_the_libraries_on_the_same_bins(name, hops, counts):
    values, _, known = setting(name, hops)
    users = known.train_users
    # The same single-precision numbers: bins must not differ by rounding.
    plain = np.hstack([block.numpy().copy() for block in values.blocks(users)])
    classes = known.labels[users]

    def check(bins):
        information, statistic = (
            table_scores(values, known, score, bins) for score in (mutual_information, chi_square)
        )
        for place, column in enumerate(plain.T):
            assigned = plain_bins(column, bins)
            table = np.zeros((3, bins), dtype=int)
            np.add.at(table, (classes, assigned), 1)
            assert information[place] == pytest.approx(mutual_info_score(classes, assigned), abs=1e-9)
            full = table[:, table.sum(0) > 0]
            expected = chi2_contingency(full, correction=False).statistic if full.shape[1] > 1 else 0
            assert statistic[place] == pytest.approx(expected, abs=1e-9)
        assert information[SILENT] == statistic[SILENT] == 0

    each(counts, check)


def test_equal_values_share_a_bin_and_every_training_user_is_in_one():
    values, _, known = setting("multibit", 0)
    for table in class_tables(values, known, 4):
        classes = np.bincount(known.labels[known.train_users], minlength=3)
        np.testing.assert_array_equal(table.sum(1), np.repeat(classes[:, None], table.shape[2], axis=1))
    rows = np.tile([0.0, 0.0, 0.0, 1.0], 20)[:, None] * np.ones((1, 12))
    _, _, small = setting()
    for table in class_tables(plain_values(rows), small, 10):
        assert ((table.sum(0) > 0).sum(0) == 2).all()
    values, _, known = setting()
    with pytest.raises(InputError, match="at least 2"):
        table_scores(values, known, chi_square, bins=1)
