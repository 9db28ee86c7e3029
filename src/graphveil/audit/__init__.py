"""Does a mechanism, or a plan, keep the privacy that it claims? What is proved, what is tested, and what is not covered.

The steps are loaded when something is audited: a client that only answers plans does without them.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.channels.sampling import RandomBits
    from graphveil.mechanisms.base import Mechanism
    from graphveil.privacy.plan import Plan
    from graphveil.audit.check import check_mechanism as check_mechanism, mechanism_checks as mechanism_checks
    from graphveil.audit.examine import Audit as Audit
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)

__all__ = ["Audit", "audit", "check_mechanism", "mechanism_checks"]


def audit(
    mechanism: Mechanism | Plan | str | Callable[..., Mechanism],
    *,
    epsilon: float | None = None,
    dims: int | None = None,
    sampled: int | None = None,
    quick: bool = False,
    random_bits: RandomBits | None = None,
    progress: Callable[[str], None] | None = None,
    minutes: float | None = None,
) -> Audit:
    """Audit a mechanism: a registered name, a plan, a function that builds one, or one that is built.

    A correct mechanism fails by chance in less than one of 100,000 audits. A mechanism that is not the package's own is also run in a
    second process; its audit is evidence, not proof, and `Audit.not_covered` begins with that.

    Parameters
    ----------
    mechanism
        What is audited.
    epsilon
        The budget that it is built with (default 1); a plan says it itself, as it does what follows.
    dims
        How many features it is built with; classes of a label, levels, users of links.
    sampled
        How many of them a report is about.
    quick
        Whether to test the sampler with 2·10^5 draws an input, or as many as 10^7 where draws are cheap, and not always with 10^7.
    random_bits
        Where random words come from; None: the operating system, as for a client, and a generator seeded by it where there are many.
    progress
        Told which step begins.
    minutes
        How long it may take (default 10, with ``quick`` 3): a step that does not finish in time says so, and nothing holds then.

    >>> audit("krr", epsilon=1.0, quick=True).holds
    True
    """
    from graphveil.audit.candidate import Candidate
    from graphveil.audit.examine import deadline_of, examine

    candidate = Candidate.of(mechanism, epsilon, dims, sampled)
    allowed = deadline_of(minutes, quick)
    return examine(candidate, quick=quick, random_bits=random_bits, progress=progress, deadline=allowed)
