import numpy as np
import torch

from graphveil.learn import tensor


def test_shape_and_type_stay():
    found = tensor(np.array([[True], [False]]))
    assert found.dtype == torch.bool and found.shape == (2, 1)


def test_the_array_is_copied():
    array = np.zeros(2)
    found = tensor(array)
    array[0] = 1
    assert found.tolist() == [0.0, 0.0]
