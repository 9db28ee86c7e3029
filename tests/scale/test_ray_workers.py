"""Workers of Ray Train learn what one process learns; in tests/slow one of them is lost."""

import numpy as np
import pytest

from graphveil.scale.ray_workers import RayWorkers
from tests.scale.in_parts import in_one_process, in_parts, small_spec


# Ray warns of a setting of its own.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")
def test_workers_of_ray_learn_what_one_process_learns():
    _, alone = in_one_process(small_spec())
    ready, outcome = in_parts(small_spec(), 2, by=RayWorkers())
    np.testing.assert_allclose(outcome.scores, alone.scores, rtol=1e-4, atol=1e-5)
    assert ready.ledger.spent.tolist() == [4.0] * 400
    assert outcome.also["workers"] == 2
