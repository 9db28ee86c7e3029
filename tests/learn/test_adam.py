"""Steps are those of torch's optimizer, bit for bit, without the compiler that it loads."""

import pytest
import torch

from graphveil.learn.training import Adam
from tests.fixtures import printed_by


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.one, self.other, self.idle = (torch.nn.Parameter(torch.randn(5, 3)) for _ in range(3))

    def loss(self, step):
        """Whatever step it is, one parameter counts; another one only now and then, and the last never."""
        loss = (self.one - step).square().sum()
        return loss + (self.other * self.one).sin().sum() if step % 3 == 1 else loss


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_it_steps_as_torch_does(weight_decay):
    ours, theirs = Model(), Model()
    step = Adam(ours, 0.02, weight_decay)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.02, weight_decay=weight_decay)
    for number in range(20):
        step(ours.loss(number))
        optimizer.zero_grad()
        theirs.loss(number).backward()
        optimizer.step()
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other)


def test_it_goes_on_from_its_state():
    whole, half, rest = Model(), Model(), Model()
    step = Adam(whole, 0.02, 0.01)
    for number in range(10):
        step(whole.loss(number))
    first = Adam(half, 0.02, 0.01)
    for number in range(5):
        first(half.loss(number))
    rest.load_state_dict(half.state_dict())
    second = Adam(rest, 0.02, 0.01)
    second.resume(first.state)
    for number in range(5, 10):
        second(rest.loss(number))
    for one, other in zip(whole.parameters(), rest.parameters(), strict=True):
        assert torch.equal(one, other)


def test_learning_loads_neither_a_compiler_nor_pyg():
    code = (
        "import sys, graphveil as gv; gv.run('base', 'town', epsilon=2.0, keep=False, settings={'epochs': 2, 'data.users': 200}); "
        "print({'torch._dynamo', 'torch_geometric', 'sympy', 'pandas'} & set(sys.modules))"
    )
    assert printed_by(code).strip() == "set()"
