import pytest
import torch

from graphveil.learn import one_thread, seeded


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before_whatever_happens():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="inside"), one_thread():
            raise ValueError("inside")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_seed_decides_what_is_drawn_and_random_numbers_go_on_where_they_were():
    drawn, state = [], torch.get_rng_state()
    for _ in range(2):
        with seeded(7):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn)
    assert torch.equal(torch.get_rng_state(), state)
