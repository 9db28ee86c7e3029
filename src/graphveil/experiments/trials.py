"""Trials: what was tried, kept in a journal that optuna's own tools can read too."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from graphveil.errors import InputError
from graphveil.experiments.outside_names import outside_digests
from graphveil.experiments.space import Point, Space
from graphveil.experiments.spec import NUMBERS, Spec

if TYPE_CHECKING:
    import optuna

STUDY = "graphveil"


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


class Journal:
    """The finished trials of one search, in a file or in memory only. What is unfinished is not in it."""

    def __init__(self, file: Path | None, space: Space) -> None:
        self.space = space
        with quiet():
            self.study = _study(file)

    def add(self, trial: Trial) -> None:
        """Keep a finished trial."""
        with quiet():
            self.study.add_trial(as_optuna(trial, self.space))

    def read(self) -> list[Trial]:
        """The finished trials, each point once, the defaults first and the others as they were finished."""
        found: list[Trial] = []
        with quiet():
            kept = self.study.get_trials(deepcopy=False)
        for one in kept:
            # The order of a point's settings is the space's, whatever the file has.
            point = {key: one.params[key] for key in self.space.values}
            if all(point != trial.point for trial in found):
                attrs = one.user_attrs
                found.append(Trial(point, attrs["metric"], tuple(attrs["scores"]), tuple(attrs["losses"])))
        return sorted(found, key=lambda trial: trial.point != self.space.defaults)


def journal_file(spec: Spec, space: Space, folder: Path) -> Path:
    """Where the trials of a search are kept: one file for all that decides their numbers, however many they are."""
    from graphveil import __version__

    shared = asdict(replace(spec, control=True))
    if outside := outside_digests(spec):
        shared["outside"] = outside
    whole = json.dumps([__version__, NUMBERS, shared, asdict(space)], sort_keys=True, default=str)
    return folder / f"{hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()}.journal"


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


def _study(file: Path | None) -> optuna.Study:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if file is None:
        return optuna.create_study(direction="maximize")
    file.parent.mkdir(parents=True, exist_ok=True)
    _mend(file)
    try:
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(file)))
    except (ValueError, KeyError):
        raise InputError(
            f"{file} is no journal of a search: delete it, and the search starts again"
        ) from None
    return optuna.create_study(storage=storage, study_name=STUDY, direction="maximize", load_if_exists=True)


def _mend(file: Path) -> None:
    """Cut off a last line that was not written to its end, which optuna would not read past."""
    if file.exists() and not (text := file.read_bytes()).endswith(b"\n"):
        with file.open("r+b") as stream:
            stream.truncate(text.rfind(b"\n") + 1)
