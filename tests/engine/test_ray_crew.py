"""Workers of Ray Train: one is lost in the middle, and no number changes."""

import functools

import numpy as np
import pytest

from graphveil.engine.part_work import Keeping
from graphveil.engine.ray_crew import RayCrew
from tests.engine.parts import in_one_process, in_parts, lost_at, small_spec


# Ray warns of a setting of its own.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")
def test_workers_of_ray_learn_what_one_process_learns_though_one_is_lost(tmp_path):
    marker = tmp_path / "lost"
    kept = tmp_path / "kept" / "training-1" / "worker-1-of-2" / "epoch-4.pt"
    _, alone = in_one_process(small_spec())
    ready, outcome = in_parts(
        small_spec(),
        2,
        crew=RayCrew(),
        load=functools.partial(lost_at, kept, marker),
        keeping=Keeping(tmp_path / "kept", every=2),
    )
    assert marker.exists(), "nobody was lost"
    np.testing.assert_allclose(outcome.scores, alone.scores, rtol=1e-4, atol=1e-5)
    assert ready.ledger.spent.tolist() == [4.0] * 400
    assert outcome.also["workers"] == 2
