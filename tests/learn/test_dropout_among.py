"""Rows that stand among others are dropped as if all of them were here."""

import numpy as np
import torch

from graphveil.learn import topology as module
from graphveil.learn.topology import RowSubset, dropout
from tests.together import each


def test_parts_draw_what_the_whole_draws(monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 64)
    order = np.random.default_rng(0).permutation(501)

    def check(columns):
        values = torch.randn(501, columns)
        torch.manual_seed(5)
        whole = dropout(values, 0.4, True)
        after = torch.rand(1)
        for own in (order[:200], order[200:], order[:0]):
            torch.manual_seed(5)
            part = dropout(values[torch.from_numpy(own)], 0.4, True, RowSubset(501, own))
            torch.testing.assert_close(part, whole[torch.from_numpy(own)], rtol=0, atol=0)
            assert torch.equal(torch.rand(1), after)

    each([1, 3, 16], check)


def test_nothing_is_drawn_outside_training():
    torch.manual_seed(5)
    values = torch.randn(10, 2)
    before = torch.get_rng_state()
    assert torch.equal(dropout(values, 0.5, False, RowSubset(20, np.arange(10))), values)
    assert torch.equal(torch.get_rng_state(), before)
