import pytest
import torch

from graphveil.learn import one_thread, seeded


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_inside_there_is_one_thread(two_threads):
    with one_thread():
        assert torch.get_num_threads() == 1


def test_afterwards_there_are_as_many_threads_as_before(two_threads):
    with one_thread():
        pass
    assert torch.get_num_threads() == 2


def test_an_error_gives_the_threads_back(two_threads):
    with pytest.raises(ValueError, match="inside"), one_thread():
        raise ValueError("inside")
    assert torch.get_num_threads() == 2


def test_a_seed_decides_what_is_drawn():
    drawn = []
    for _ in range(2):
        with seeded(7):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn)


def test_random_numbers_go_on_where_they_were():
    state = torch.get_rng_state()
    with seeded(7):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), state)
