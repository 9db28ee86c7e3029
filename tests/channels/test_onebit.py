"""One bit of one value."""

from __future__ import annotations

import pytest

from graphveil.channels import duchi, onebit
from graphveil.channels.onebit import onebit_table

BUDGETS = pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])


def test_a_table_may_have_another_total() -> None:
    assert onebit_table(1.0, 1 << 61).sum(axis=1).tolist() == [1 << 61] * 2


def test_duchi_is_onebit() -> None:
    assert duchi is onebit
