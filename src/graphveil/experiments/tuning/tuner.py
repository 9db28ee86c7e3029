"""Tune a method: search its settings by validation users, and never look at a test label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from graphveil.engine.engine import HERE, Engine
from graphveil.engine.pool import Arriving, computed
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.runs.elsewhere import digest_for
from graphveil.experiments.runs.unit import validate_unit
from graphveil.experiments.specs.given import take_data
from graphveil.experiments.specs.inputs import check_same, check_unchanged, input_digest
from graphveil.experiments.specs.outside_names import load_names
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.store.place import results_file
from graphveil.experiments.tuning.space import Point, Space
from graphveil.experiments.tuning.suggest import suggest
from graphveil.experiments.tuning.trials import Trial, TrialStore
from graphveil.graphs import Graph, Users
from graphveil.outside import held
from graphveil.version import __version__

TRIALS = 50
# Told what is being done inside a trial and which share of it is done (only without parallel processes).
Inside = Callable[[str, float], None]
Given = tuple[Graph, Users] | None
# A tried point with its trial, or with why it could not be tried.
Tried = tuple[Point, Trial | GraphveilError]


@dataclass(frozen=True)
class Tuned:
    """What a search has found so far: its finished trials, the defaults first."""

    spec: Spec
    space: Space
    trials: tuple[Trial, ...]
    total: int
    failed: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The trial of the highest mean validation score, between equals of the lowest loss, then the first."""
        if not self.trials:
            raise InputError("no trial is finished, so there is no best one: let the search go on")
        return max(self.trials, key=lambda trial: trial.rank)

    @property
    def defaults(self) -> Trial | None:
        """The trial of the default settings, once it is finished."""
        return next((trial for trial in self.trials if trial.point == self.space.defaults), None)

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings, together with those that were fixed."""
        return {**self.spec.settings, **self.best.point}

    def to_dict(self) -> dict[str, Any]:
        """The result in the form that `--json` prints."""
        spec, best, defaults = self.spec, self.best, self.defaults
        return {
            "method": spec.method,
            "data": spec.data,
            "task": spec.task,
            "metric": best.metric,
            "epsilon": spec.budgets.epsilon,
            "mechanism": spec.budgets.mechanism if spec.budgets.epsilon is not None else None,
            "backbone": spec.backbone,
            "label_epsilon": spec.budgets.label_epsilon,
            "link_epsilon": spec.budgets.link_epsilon,
            **spec.chosen,
            "seed": spec.seed,
            "runs": spec.runs,
            "version": __version__,
            "settings": self.settings,
            "validation": {"runs": list(best.scores), "mean": best.score},
            "defaults": {
                "settings": self.space.defaults,
                "validation": defaults and {"runs": list(defaults.scores), "mean": defaults.score},
            },
            "trials": {"done": len(self.trials), "total": self.total, "failed": list(self.failed)},
            "interrupted": self.interrupted,
        }


def tune(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    trials: int = TRIALS,
    jobs: int | None = None,
    engine: str | Engine = HERE,
    keep: bool = True,
    store: TrialStore | None = None,
    watch: Callable[[Tuned], None] | None = None,
    inside: Inside | None = None,
    **options: Any,
) -> Tuned:
    """Search the settings of a method on a dataset (a name or a path, a graph with its users, or PyG's Data).

    Options are the fields of `Spec`; ``settings`` are fixed and not searched. Trials on named data are kept, as the command line
    keeps them, so that the same search goes on where it stopped, unless ``keep`` is False. The best settings are
    ``tuned.settings``, for ``gv.run(..., settings=tuned.settings)``. Users that test in one split validate in another, so scores of tuned settings are slightly optimistic, as
    is standard practice: report with other seeds than those of the search.
    """
    name, given, options = take_data(data, users, options)
    spec = Spec.of(method, name, **options)
    if store is None and keep and given is None:
        store = TrialStore(results_file())
    return tune_spec(
        spec,
        trials=trials,
        jobs=jobs,
        engine=Engine.of(engine),
        store=store,
        watch=watch,
        inside=inside,
        given=given,
    )


@held()
def tune_spec(
    spec: Spec,
    *,
    trials: int = TRIALS,
    jobs: int | None = None,
    engine: Engine = HERE,
    store: TrialStore | None = None,
    watch: Callable[[Tuned], None] | None = None,
    inside: Inside | None = None,
    given: Given = None,
) -> Tuned:
    """Search for the settings with the highest mean validation score over the runs of a spec.

    Scores and not losses are compared: the losses of two settings need not be the same quantity, while reported labels
    lower every accuracy by the same factor and leave the order of the settings, in expectation, as it is.
    The whole grid is tried if it has at most ``trials`` points, else TPE chooses. Without parallel processes the result
    depends on the seed alone; with them TPE sees results in another order, a whole grid gives the same. An interrupt
    returns what there is, marked as interrupted, if there is anything.
    """
    engine.check_units("a search")
    space = check_search(spec, trials, jobs)
    total = min(trials, space.size)
    kept = None if store is None else _Kept(spec, space, store, given)
    so_far = Tuned(spec, space, () if kept is None else kept.find(total), total)
    if watch is not None and so_far.trials:
        watch(so_far)
    todo = total - len(so_far.trials)
    search = _Search(so_far, spec.seed)
    results = (
        _parallel(search, todo, jobs, engine, given)
        if engine.outside(jobs, todo)
        else _serial(search, todo, inside, given)
    )
    try:
        for result in results:
            if search.note(*result, kept) and watch is not None:
                watch(search.so_far)
    except KeyboardInterrupt:
        # A trial may have been written to the file just before: the file knows.
        finished = search.so_far.trials if kept is None else kept.find(total)
        if not finished:
            raise
        return replace(search.so_far, trials=finished, interrupted=True)
    return search.so_far


def check_search(spec: Spec, trials: int, jobs: int | None) -> Space:
    """Refuse what cannot be searched, before anything heavy is imported; else the space to search."""
    spec.check()
    for name, number in (("trials", trials), ("jobs", 1 if jobs is None else jobs)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError(f"{name} must be an integer of at least 1, got {number!r}")
    return Space.of(spec)


class _Kept:
    """The part of a store that is this search's."""

    def __init__(self, spec: Spec, space: Space, store: TrialStore, given: Given) -> None:
        if given is not None:
            raise InputError(
                "a graph that is given has no name by which its trials could be found again: leave out the store, or write "
                "the graph to an .npz file and name that"
            )
        self.spec, self.space, self.store = spec, space, store
        store.check()
        self.inputs = input_digest(spec)

    def find(self, most: int) -> tuple[Trial, ...]:
        """The first trials that are there, as many as are wanted."""
        return tuple(self.store.find(self.spec, self.space)[:most])

    def add(self, trial: Trial) -> None:
        """Keep a finished trial, as long as the data is what it was."""
        check_unchanged(self.spec, self.inputs)
        self.store.add(self.spec, self.space, trial)


class _Search:
    """What has been found, what is being tried, and what comes next."""

    def __init__(self, so_far: Tuned, seed: int) -> None:
        self.so_far, self.seed = so_far, seed
        # Being tried, or tried in vain.
        self.others: list[Point] = []

    def next(self) -> Point:
        """The next point; it counts as being tried from now on."""
        space = self.so_far.space
        whole = self.so_far.total == space.size
        point = suggest(space, self.so_far.trials, self.others, self.seed, whole=whole)
        self.others.append(point)
        return point

    def note(self, point: Point, result: Trial | GraphveilError, kept: _Kept | None) -> bool:
        """Keep what came of a point. The defaults must work; other settings may be refused. Whether it is finished."""
        if isinstance(result, GraphveilError):
            if point == self.so_far.space.defaults:
                raise result
            chosen = ", ".join(f"{key}={value}" for key, value in point.items())
            self.so_far = replace(self.so_far, failed=(*self.so_far.failed, f"{chosen}: {result}"))
            return False
        if kept is not None:
            kept.add(result)
        self.others.remove(point)
        trials = sorted(
            (*self.so_far.trials, result), key=lambda trial: trial.point != self.so_far.space.defaults
        )
        self.so_far = replace(self.so_far, trials=tuple(trials))
        return True


def _serial(search: _Search, todo: int, inside: Inside | None, given: Given) -> Iterator[Tried]:
    for _ in range(todo):
        yield _try(search.so_far.spec, search.next(), inside, given)


def _parallel(search: _Search, todo: int, jobs: int | None, engine: Engine, given: Given) -> Iterator[Tried]:
    """Trials outside this process, in the order in which they finish; this process alone suggests and keeps."""
    digest = digest_for(search.so_far.spec, "method", given)
    with engine.pool(jobs, todo) as pool:
        arriving: Arriving[Tried] = Arriving()
        while todo or arriving:
            while todo and len(arriving) < pool.count:
                arriving.add(pool.submit(_try_elsewhere, search.so_far.spec, search.next(), given, digest))
                todo -= 1
            yield computed(arriving.next())


def _try_elsewhere(spec: Spec, point: Point, given: Given, digest: str | None) -> Tried:
    """A point, where the data are those of the digest."""
    if digest is not None:
        load_names(spec)
        check_same(spec, digest)
    return _try(spec, point, None, given)


def _try(spec: Spec, point: Point, inside: Inside | None, given: Given) -> Tried:
    """All runs of one point; what graphveil refuses is returned, so that the search can go on."""
    chosen = spec.having(settings={**spec.settings, **point})
    runs = []
    try:
        for number in range(spec.runs):

            def tell(what: str, share: float, number: int = number) -> None:
                if inside is not None:
                    inside(what, (number + share) / spec.runs)

            runs.append(validate_unit(chosen, number, tell, given))
    except GraphveilError as error:
        return point, error
    return point, Trial(
        point, runs[0].metric, tuple(run.score for run in runs), tuple(run.loss for run in runs)
    )
