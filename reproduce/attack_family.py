"""Every attack on everything that is sound, and one rate of false alarms for all of it together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.attacks.attribute import AttributeAttack
from graphveil.attacks.campaign import (
    AttackPoint,
    AttackTarget,
    Campaign,
    MechanismTarget,
    Watch,
    run_campaign,
)
from graphveil.attacks.game import MechanismAttack
from graphveil.experiments.attack_study import MethodTarget
from graphveil.experiments.experiment import Experiment
from graphveil.mechanisms import entry, names

EPSILONS = (0.5, 2.0, 8.0)
# Where every promise is kept, so often at most is any of them called broken.
RATE = 1e-6
SEED = 100
# A small town; a smaller one where a curator walks over dendrograms.
TOWN: dict[str, Any] = {
    "users": 600,
    "features": 12,
    "neighbourhood": 25,
    "labelled": 0.4,
    "validated": 0.2,
}
HAMLET = {**TOWN, "users": 150}
WALK = {"sweeps": 20}
OPTIONS: dict[str, dict[str, Any]] = {
    "item": {"length": 3},
    "edgerr": {"private_edges": 0.5, **WALK},
    "privhrg": WALK,
}
WALKING = ("edgerr", "privhrg")
# A prior is fitted for these: of each kind of report one.
FITTED = ("multibit", "piecewise", "analytic-gaussian", "featurerr", "item", "privunit", "ppm")
# What models are attacked: trained on labels as they are reported, on labels that are denoised, and on graph and labels alone, which has
# no embedding.
MODELS = (*(("base", "scores"), ("base", "embedding"), ("lpgnn", "scores"), ("structure", "scores")),)
FEATURE_EPSILON = 4.0
RUNS, MODEL_RUNS, EPOCHS = 10, 3, 40


@dataclass(frozen=True)
class AttackCase:
    """One attack on one thing, with a name that says so."""

    name: str
    target: AttackTarget
    runs: int

    def campaign(self, epsilons: Sequence[float] = EPSILONS, watch: Watch | None = None) -> Campaign:
        """Play it at all budgets."""
        return run_campaign(self.target, epsilons, runs=self.runs, seed=SEED, watch=watch)


def sound_cases() -> Iterator[AttackCase]:
    """Every attack on every sound mechanism, and on models of private labels."""
    for name in names("features"):
        if entry(name).sound:
            yield reports_case("attribute", name)
    for name in FITTED:
        yield reports_case(AttributeAttack("fitted"), name, ", fitted prior")
    for attack, against in (("level", ("ppm", "esw")), ("label", names("label")), ("link", names("links"))):
        for name in against:
            yield reports_case(attack, name)
    for attack in ("label", "membership"):
        for method, seen in MODELS:
            yield _model_case(attack, method, seen)


def reports_case(attack: str | MechanismAttack, name: str, more: str = "") -> AttackCase:
    """An attack on what a mechanism reports."""
    target = MechanismTarget.of(
        attack,
        "town",
        name,
        options=OPTIONS.get(name, {}),
        data_options=HAMLET if name in WALKING else TOWN,
    )
    return AttackCase(f"{target.attack.name}{more}: {name}", target, RUNS)


def _model_case(attack: str, method: str, seen: str) -> AttackCase:
    settings = {"epochs": EPOCHS, **{f"data.{key}": value for key, value in TOWN.items()}}
    if method == "base":
        settings["label_loss"] = "plain"
    budget = {} if method == "structure" else {"epsilon": FEATURE_EPSILON}
    target = MethodTarget.of(attack, Experiment.of(method, "town", settings=settings, **budget), seen)
    return AttackCase(f"{attack}: {seen} of {method}", target, MODEL_RUNS)


def broken(points: Sequence[AttackPoint], rate: float = RATE, of: int | None = None) -> list[AttackPoint]:
    """Those of some points whose bound is broken, where all of a family together raise a false alarm at most at this rate.

    A single campaign goes by the lower end of its 95% interval, and accuses a mechanism that reaches its bound exactly in 2.5% of cases. Among a
    hundred points some would be. So each is called broken only where so many hits come about in ``rate`` / number of points
    of all cases at most (Bonferroni, whatever depends on what). ``of`` is how many points there are in all, where these are some of them.
    """
    each = rate / (len(points) if of is None else of)
    return [point for point in points if point.how_likely <= each]
