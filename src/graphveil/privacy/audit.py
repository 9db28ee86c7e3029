"""The audit: does a mechanism keep what it claims? Five steps, each in a file of its own.

1. `tables`: the exact ε and δ of every channel and of all answers together, from integers.
2. `whole`: whole reports of a small version, enumerated (`joint`), the choice of dimensions included.
3. `behaviour`: what else of a report depends on private data, seen from outside.
4. `sampler`: draws through the client's own path against the enumerated probabilities.
5. `bound`: what reports alone prove about ε, without believing any table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from graphveil.channels.words import SystemWords, Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.ppm import PersonalMechanism
from graphveil.privacy.behaviour import behaviour_step
from graphveil.privacy.bound import FEWER, bound_step
from graphveil.privacy.candidate import Candidate
from graphveil.privacy.findings import (
    BEHAVIOUR,
    BOUND,
    JOINT,
    SAMPLER,
    TABLES,
    BrokenError,
    Step,
    counted,
    power,
    rounded_up,
)
from graphveil.privacy.joint import Joint, enumerate_smaller
from graphveil.privacy.pairs import personal_sentences
from graphveil.privacy.sampler import sampler_step
from graphveil.privacy.tables import tables_step
from graphveil.privacy.whole import describe_size, joint_step

DRAWS, QUICK_DRAWS = 10_000_000, 200_000


@dataclass(frozen=True)
class Privacy:
    """An ε (which may be infinite) and a δ."""

    epsilon: float
    delta: float = 0.0

    def as_dict(self) -> dict[str, float | None]:
        """As JSON has it: an infinite ε is null."""
        return {"epsilon": None if math.isinf(self.epsilon) else self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class Audit:
    """What an audit has found. It ``holds`` if nothing leaks.

    ``exact`` is what the tables say, rounded up: ε at the claimed δ, and δ at the claimed ε (0 where none is claimed).
    ``protects`` and ``leaks`` are sentences.
    """

    name: str
    claimed: Privacy
    exact: Privacy
    protects: list[str]
    leaks: list[str]
    steps: list[Step] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the claim holds, as far as the audit can see."""
        return not self.leaks

    def as_dict(self) -> dict[str, Any]:
        """The findings without the steps. An infinite ε is None, and a leak says so."""
        return {
            "name": self.name,
            "claimed": self.claimed.as_dict(),
            "exact": self.exact.as_dict(),
            "holds": self.holds,
            "protects": self.protects,
            "leaks": self.leaks,
        }

    def to_json(self) -> str:
        """One JSON object: name, claimed, exact, holds, protects, leaks. An infinite ε is null."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


def audit(
    mechanism: Mechanism | str | Callable[..., Mechanism],
    *,
    epsilon: float | None = None,
    dims: int | None = None,
    sampled: int | None = None,
    quick: bool = False,
    words: Words | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a mechanism: a registered name, a function that builds one, or one that is built.

    ``epsilon`` (default 1), ``dims`` (features; classes of a label, levels, users of links) and ``sampled`` are what it is built with.
    The sampler is tested with 10^7 draws, with ``quick`` with 2·10^5. Draws use the operating system's words, as a
    client does, unless ``words`` are given; a correct mechanism fails by chance in less than one of 100,000 audits.
    ``progress`` is told which step begins.

    >>> audit("krr", epsilon=1.0, quick=True).holds
    True
    """
    tell = progress or (lambda title: None)
    candidate = Candidate.of(mechanism, epsilon, dims, sampled)
    whole = candidate.build()
    source, draws = words or SystemWords(), QUICK_DRAWS if quick else DRAWS
    joint: Joint | None = None

    def run(title: str, look: Callable[[], Step]) -> Step:
        tell(title)
        try:
            return look()
        except Exception as error:  # noqa: BLE001
            # Whatever a mechanism of one's own may do wrong ends here as a finding.
            told = str(error) if isinstance(error, BrokenError) else f"{type(error).__name__}: {error}"
            return Step(title, "it failed on the way", (f"{title}: {told}",), failed=True)

    def enumerated() -> Step:
        nonlocal joint
        joint = enumerate_smaller(candidate)
        return joint_step(joint, whole.finite)

    steps = [run(TABLES, lambda: tables_step(whole, candidate.epsilon)), run(JOINT, enumerated)]
    small = joint if not steps[-1].failed else None
    steps.append(run(BEHAVIOUR, lambda: behaviour_step(candidate, small)))
    if small is not None:
        steps.append(run(SAMPLER, lambda: sampler_step(small, draws, source)))
    # Where the sampler could not be compared with a table, all draws go into the bound.
    left = draws if small is None else draws // FEWER
    steps.append(run(BOUND, lambda: bound_step(candidate.build, left, source)))
    exact = Privacy(whole.loss.epsilon, whole.delta if whole.claim.delta else 0.0)
    claimed = Privacy(whole.claim.epsilon, whole.claim.delta)
    name = candidate.name or whole.name
    return Audit(name, claimed, exact, _protects(whole, exact, steps), _leaks(steps), steps)


def _leaks(steps: list[Step]) -> list[str]:
    """All findings, each once."""
    found = [leak for step in steps for leak in step.leaks if not step.failed]
    return list(dict.fromkeys(found or [leak for step in steps for leak in step.leaks]))


def _protects(mechanism: Mechanism, exact: Privacy, steps: list[Step]) -> list[str]:
    """What is protected, in sentences; only what the steps have confirmed."""
    sound = {step.title: not step.leaks for step in steps}
    sentences = []
    if all(sound[title] for title in sound if title not in (TABLES, JOINT)) and not math.isinf(exact.epsilon):
        sentences.append(_main_sentence(mechanism, exact))
    if (
        sound[BEHAVIOUR]
        and sound[BOUND]
        and sound.get(SAMPLER, True)
        and isinstance(mechanism, PersonalMechanism)
    ):
        sentences += personal_sentences(mechanism)
    if sound[BEHAVIOUR] and not mechanism.uneven:
        sentences.append(
            f"Length, type and size of a report: {counted(mechanism.report_length, 'code')} of an alphabet of "
            f"{mechanism.alphabet:,} for everybody, whatever they hold."
        )
    if sound[BEHAVIOUR]:
        if mechanism.names_dimensions:
            sentences.append(
                f"Which values: {mechanism.report_length - mechanism.personal} of {mechanism.dimensions} are chosen without looking at them."
            )
        if mechanism.subject == "features":
            sentences.append(
                "Outliers: a value outside the public range is refused or reported like its end."
            )
        sentences.append(
            "Each user alone: a report depends on nobody else's data and is drawn independently."
        )
    return sentences


def _main_sentence(mechanism: Mechanism, exact: Privacy) -> str:
    what = {
        "features": f"A user's whole row{' and level' if mechanism.personal else ''} ({describe_size(mechanism)} reported)",
        "label": "A user's label",
        "level": "A user's privacy level",
        "links": "Each link of a user",
    }[mechanism.subject]
    but = "" if mechanism.holds else f", more than the claimed {mechanism.claim.epsilon:g}"
    except_for = f", but for a probability of {mechanism.claim.delta:g}" if mechanism.claim.delta else ""
    than = "with it as without it" if mechanism.subject == "links" else "under one as under any other"
    return (
        f"{what}: any report is at most {power(exact.epsilon)} times as likely {than}"
        f"{except_for} (exact epsilon {rounded_up(exact.epsilon)}{but})."
    )
