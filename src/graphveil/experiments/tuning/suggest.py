"""What to try next: the whole grid where there is time for it, else what TPE expects most of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphveil.experiments.tuning.space import Point, Space
from graphveil.experiments.tuning.trials import Trial, as_optuna, distributions, quiet

# How often TPE is asked when all that it names was tried; after that the first untried point is taken.
ATTEMPTS = 100


def suggest(
    space: Space, finished: Sequence[Trial], others: Sequence[Point], seed: int, *, whole: bool
) -> Point:
    """An untried point: the defaults first, then one after the other, or by TPE if not the ``whole`` space is searched.

    It depends on nothing but its arguments, so a search that goes on suggests what it would have without a break.
    ``others`` are points that are being tried or have failed. A point is tried once: its numbers would be the same.
    """
    tried = [trial.point for trial in finished] + list(others)
    if not whole and space.defaults in tried:
        point = _by_tpe(space, finished, tried, seed)
        if point is not None:
            return point
    return next(point for point in space.points() if point not in tried)


def _by_tpe(space: Space, finished: Sequence[Trial], tried: list[Point], seed: int) -> Point | None:
    """A point by the tree-structured Parzen estimator (Bergstra et al. 2011) from the trials so far."""
    import optuna
    from optuna.trial import TrialState, create_trial

    random = np.random.default_rng([seed, len(tried)])
    with quiet():
        sampler = optuna.samplers.TPESampler(seed=int(random.integers(2**32)))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(as_optuna(trial, space) for trial in finished)
        # What is being tried elsewhere is counted as bad until it is finished, so that nobody else tries the like.
        for point in tried[len(finished) :]:
            study.add_trial(
                create_trial(state=TrialState.RUNNING, params=point, distributions=distributions(space))
            )
        for _ in range(ATTEMPTS):
            asked = study.ask(distributions(space))
            point = {key: asked.params[key] for key in space.values}
            for candidate in (point, _neighbour(point, space, random)):
                if candidate not in tried:
                    return candidate
            study.tell(asked, state=TrialState.FAIL)
    return None


def _neighbour(point: Point, space: Space, random: np.random.Generator) -> Point:
    """The same point but for one setting."""
    key = str(random.choice([key for key, values in space.values.items() if len(values) > 1]))
    others = [value for value in space.values[key] if value != point[key]]
    return {**point, key: others[int(random.integers(len(others)))]}
