import numpy
import pytest
import threadpoolctl

from graphveil.errors import EngineError
from graphveil.scale import environment
from graphveil.scale.environment import algebra_threads, check_same, set_algebra_threads, versions


def test_whatever_computes_numbers_is_there_and_must_be_the_same():
    assert versions().keys() == {
        "graphveil",
        "Python",
        "numba",
        "numpy",
        "scikit-learn",
        "scipy",
        "torch",
        "torch_geometric",
    }
    assert versions()["numpy"] == numpy.__version__
    check_same(versions())
    with pytest.raises(EngineError, match="has faster none in place of 1.0"):
        check_same({**versions(), "faster": "1.0"})


@pytest.mark.parametrize("name", ["graphveil", "Python", "numpy"])
def test_another_version_is_refused_and_named(name):
    with pytest.raises(
        EngineError, match=rf"has {name} .* in place of another, .*: install the same versions"
    ):
        check_same({**versions(), name: "another"})


def test_other_source_of_the_same_version_is_another_one(monkeypatch):
    theirs = versions()
    monkeypatch.setattr(environment, "source_digest", lambda: "e" * 64)
    with pytest.raises(EngineError, match="source eeeeeeeeeeee in place of"):
        check_same(theirs)


def test_threads_of_linear_algebra_can_be_set():
    with threadpoolctl.threadpool_limits(user_api="blas"):
        set_algebra_threads(1)
        assert algebra_threads() == 1
        set_algebra_threads(2)
        assert algebra_threads() == 2
