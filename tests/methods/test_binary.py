"""Binary graphs get channels of two points, unless the documents' continuous form is asked for."""

import numpy as np
import pytest

from graphveil import InputError, mechanism
from graphveil.graphs import from_arrays
from graphveil.methods import METHODS, Job, feature_plan
from graphveil.privacy import Nobody


def plan(known=True, **options):
    rows = np.eye(40, 4)
    graph, _ = from_arrays([[0, 1]], rows, np.arange(40) % 2, range=(0, 1), binary=known)
    settings = METHODS.find("base").settings.of({})
    job = Job.of(graph, Nobody(), settings, 0, epsilon=0.01, mechanism="piecewise", mechanism_options=options)
    return feature_plan(job)


def test_binary_graphs_get_two_points():
    built = plan().build()
    assert built.channels[0].input_count == 2
    assert built.largest / built.scale == pytest.approx(200.5 / 2, rel=1e-3)


@pytest.mark.parametrize("options", [{"points": 65}, {"binary": False}, {"binary": False, "points": 65}])
def test_the_continuous_form_can_be_asked_for(options):
    built = plan(**options).build()
    assert built.channels[0].input_count == 65
    assert built.largest / built.scale == pytest.approx(400 / 2, rel=0.01)


def test_points_beside_binary_values_are_refused_as_they_have_no_effect():
    with pytest.raises(InputError, match="binary values have two input points"):
        mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1), binary=True, points=65)
    assert mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1), binary=True, points=2).epsilon <= 1.0


def test_values_that_are_not_binary_cannot_be_called_so():
    with pytest.raises(InputError, match="are not binary"):
        plan(False, binary=True)
    with pytest.raises(InputError, match="must be true or false"):
        plan(binary="yes")
