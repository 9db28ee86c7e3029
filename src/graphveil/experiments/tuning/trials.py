"""Trials: what was tried, and how it is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from graphveil.experiments.specs.inputs import input_digest
from graphveil.experiments.specs.outside_names import outside_digests
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.store.database import check_writable, insert, select
from graphveil.experiments.store.reuse import Origin, Reuse, now, this_version
from graphveil.experiments.tuning.space import Point, Space

if TYPE_CHECKING:
    import optuna

ADD = "INSERT INTO trials (search, data, source, version, time, trial) VALUES (?, ?, ?, ?, ?, ?)"
# This version's first, then in the order in which they were finished.
FIND = """SELECT id, version, source, trial FROM trials WHERE search = ? AND data = ?
    ORDER BY source = ? DESC, id"""


@dataclass(frozen=True)
class Trial:
    """A point of the search, and its validation scores and losses run by run."""

    point: Point
    metric: str
    scores: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def score(self) -> float:
        """The mean validation score, 0..1."""
        return fmean(self.scores)

    @property
    def rank(self) -> tuple[float, float]:
        """The higher the better: by the mean score, between equals by the lower mean loss."""
        loss = fmean(self.losses)
        return self.score, -math.inf if math.isnan(loss) else -loss


class TrialStore:
    """The finished trials of searches in the file of results; what is unfinished is not in it.

    Trials that another version has computed are found only with ``any_version``; what was found is in ``reuse``.
    """

    def __init__(self, file: Path, any_version: bool = False) -> None:
        self.file = file
        self.reuse = Reuse(any_version)

    def check(self) -> None:
        """Refuse, before anything is computed, a file that could not be written."""
        # What runs from now on is what was there now, whatever is written into the source meanwhile.
        this_version()
        check_writable(self.file)

    def add(self, spec: Spec, space: Space, trial: Trial) -> None:
        """Keep a finished trial; it is on the disk when this returns."""
        origin = this_version()
        record = (origin.source, origin.version, now(), json.dumps(asdict(trial)))
        insert(self.file, ADD, (*_key(spec, space), *record))

    def find(self, spec: Spec, space: Space) -> list[Trial]:
        """The finished trials, each point once, the defaults first and the others as they were finished."""
        source = this_version().source
        (rows,) = select(self.file, FIND, (*_key(spec, space), source))
        trials: list[Trial] = []
        for number, *computed_by, text in rows:
            origin = Origin(*map(str, computed_by))
            usable = origin.source == source or self.reuse.any_version
            trial = read_trial(text, spec.runs, space)
            if trial is None:
                self.reuse.broken |= {number} if usable else set()
            elif all(trial.point != other.point for other in trials):
                trials += [trial] if usable else []
                if origin.source != source:
                    (self.reuse.taken if usable else self.reuse.left)[number] = origin
        return sorted(trials, key=lambda trial: trial.point != space.defaults)

    def sentences(self) -> list[str]:
        """What has to be said about what was found."""
        return self.reuse.sentences("trials")


def read_trial(text: Any, runs: int, space: Space) -> Trial | None:
    """A trial as it was kept; None where the record is damaged."""
    try:
        trial = _TRIAL.validate_json(text, strict=True)
    except (ValidationError, TypeError):
        return None
    if {len(trial.scores), len(trial.losses)} != {runs} or trial.point.keys() != space.values.keys():
        return None
    if any(trial.point[key] not in values for key, values in space.values.items()):
        return None
    # The order of a point's settings is the space's, whatever the record has.
    return replace(trial, point={key: trial.point[key] for key in space.values})


_TRIAL = TypeAdapter(Trial)


def _key(spec: Spec, space: Space) -> tuple[str, str]:
    """All that decides the numbers of a search's trials, however many they are: what is searched, and the data."""
    whole = [asdict(spec.having(control=True)), outside_digests(spec), asdict(space)]
    return json.dumps(whole, sort_keys=True, default=str), input_digest(spec)


def as_optuna(trial: Trial, space: Space) -> optuna.trial.FrozenTrial:
    """A finished trial as optuna knows it."""
    import optuna

    attrs = {"metric": trial.metric, "scores": list(trial.scores), "losses": list(trial.losses)}
    return optuna.trial.create_trial(
        params=trial.point, distributions=distributions(space), value=trial.score, user_attrs=attrs
    )


def distributions(space: Space) -> dict[str, Any]:
    """The space as optuna knows it: every setting is one of its values."""
    from optuna.distributions import CategoricalDistribution

    return {key: CategoricalDistribution(values) for key, values in space.values.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Let optuna say nothing inside but what went wrong."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
