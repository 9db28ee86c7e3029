import pytest
import torch

from graphveil.learn.topology import dropout


def test_outside_training_and_for_nothing_to_drop_the_values_stay():
    values = torch.randn(5, 3)
    assert torch.equal(dropout(values, 0.5, training=False), values)
    assert torch.equal(dropout(values, 0.0, training=True), values)


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 0.999])
def test_the_share_is_dropped_and_the_mean_is_kept(share):
    # A million values: a share that is off by six standard errors or more fails.
    torch.manual_seed(0)
    out = dropout(torch.ones(1000, 1000), share, training=True)
    error = (share * (1 - share)) ** 0.5 / 1000
    assert float((out == 0).double().mean()) == pytest.approx(share, abs=6 * error + 2**-17)
    left = out[out != 0]
    torch.testing.assert_close(left, torch.full_like(left, 1 / (1 - share)), rtol=0.01, atol=0)


@pytest.mark.statistical
def test_the_four_values_of_a_word_are_independent():
    # Of 400,000 words, each pair of places is dropped together in a quarter of them, within six standard errors.
    torch.manual_seed(0)
    kept = (dropout(torch.ones(400_000, 4), 0.5, training=True) != 0).double()
    together = kept.t() @ kept / len(kept)
    expected = torch.full((4, 4), 0.25, dtype=torch.double).fill_diagonal_(0.5)
    torch.testing.assert_close(together, expected, rtol=0, atol=6 * 0.5 / 400_000**0.5)


def test_the_gradient_is_the_mask():
    torch.manual_seed(0)
    values = torch.randn(7, 5, requires_grad=True)
    out = dropout(values, 0.5, training=True)
    out.sum().backward()
    torch.testing.assert_close(values.grad, (out.detach() != 0) * 2.0)


def test_the_seed_decides():
    outs = []
    for _ in range(2):
        torch.manual_seed(3)
        outs.append(dropout(torch.ones(9, 9), 0.3, training=True))
    assert torch.equal(*outs)
