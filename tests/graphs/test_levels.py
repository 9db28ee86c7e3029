import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs.users import draw_levels, read_levels


def test_distributions_are_what_they_say_and_follow_the_seed():
    uniform = draw_levels(6000, 3, "uniform", seed=1)
    np.testing.assert_allclose(np.bincount(uniform, minlength=4)[1:] / 6000, 1 / 3, atol=0.03)
    assert set(draw_levels(10, 4, "strict")) == {1}
    assert set(draw_levels(10, 4, "relaxed")) == {4}
    assert np.bincount(draw_levels(10, 4, "bimodal"), minlength=5).tolist() == [0, 5, 0, 0, 5]
    one, again, other = (draw_levels(50, 5, "uniform", seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    with pytest.raises(InputError, match="choose one of uniform, strict, relaxed, bimodal"):
        draw_levels(5, 3, "normal")


@pytest.mark.parametrize("name", ["levels.npy", "levels.csv", "levels.txt"])
def test_levels_come_from_files(tmp_path, name):
    file = tmp_path / name
    if name.endswith(".npy"):
        np.save(file, np.array([1, 2, 1]))
    else:
        file.write_text("1,2\n1\n")
    assert read_levels(file, 3).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.json", "1 2 1", "end in"),
        ("a.txt", "1 2", "must be 3 integers"),
        ("a.txt", "1 2 x", "something other than integers"),
        ("b/a.txt", None, "cannot be read"),
    ],
)
def test_files_that_hold_no_levels_are_refused(tmp_path, name, text, match):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=match):
        read_levels(file, 3)
