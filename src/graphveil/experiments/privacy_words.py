"""What was spent, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def privacy_sentence(privacy: dict[str, Any] | None) -> str:
    """What every user has spent, in words."""
    costs = {subject: cost for subject, cost in (privacy or {}).items() if isinstance(cost, dict)}
    total, links, level = (costs.pop(subject, None) for subject in ("total", "links", "level"))
    if not costs and not links:
        return "Nobody reported anything private to this method's server."
    spent = " and ".join(f"{subject} at {budget(cost)}" for subject, cost in costs.items())
    in_all = f", in all {budget(total)}" if total and len(costs) > 1 else ""
    hidden = "" if level is None else f"; {_level_words(level)}"
    each = f"{'; ' if spent else ''}every link costs {budget(links)}" if links else ""
    some = ["labels"] if "labels" in costs else []
    if any(cost.get("norm") for cost in costs.values()):
        some.append("norms")
    who = "Users reported" if some else "Every user reported"
    part = f" ({' and '.join(some)} of training and validation users)" if some else ""
    return f"{who} {spent}{in_all}{part}{hidden}{each}; the server needs no trust."


def _level_words(level: dict[str, Any]) -> str:
    if level["epsilon"] is None:
        return "the level that each chose is not protected at all"
    return f"the level that each chose is hidden up to {budget(level)}"


def budget(cost: dict[str, Any]) -> str:
    """ε and, where there is one, δ; the range of budgets where users chose a level.

    >>> budget({"epsilon": 1.0, "delta": 0.0})
    'ε = 1'
    >>> budget({"epsilon": 8.0, "delta": 0.0, "per_level": [2.0, 4.0, 8.0]})
    'ε = 2, 4 or 8 by level'
    >>> budget({"epsilon": 3.0, "delta": 0.0, "norm": 1.0})
    'ε = 3, 1 of it for norms'
    """
    norms = f", {cost['norm']:g} of it for norms" if cost.get("norm") else ""
    if cost.get("per_level"):
        *lower, last = (f"{each:g}" for each in cost["per_level"])
        return f"ε = {', '.join(lower)} or {last} by level{norms}"
    return f"ε = {number(cost['epsilon'])}" + (f", δ = {cost['delta']:g}" if cost["delta"] else "") + norms


def number(epsilon: float | None) -> str:
    """An ε as it is printed. A stored result has None where it is infinite, as JSON knows no such number.

    >>> number(0.5), number(None)
    ('0.5', 'infinite')
    """
    return "infinite" if epsilon is None or math.isinf(epsilon) else f"{epsilon:g}"


def embedding_statement(
    privacy: dict[str, Any], method: str, seed: int, *, raw: bool, public: Sequence[str]
) -> str:
    """Who reported what for an embedding, what it may rest on besides, and what the seed means for it.

    ``raw`` says that the method read raw features, ``public`` names what was taken as known to everybody.
    """
    costs = {
        subject: cost for subject, cost in privacy.items() if isinstance(cost, dict) and subject != "total"
    }
    if raw:
        reported = ", ".join(f"{subject} at {budget(cost)}" for subject, cost in costs.items())
        besides = f" Besides, users reported {reported}." if reported else ""
        return f"{method} read everybody's raw features: this embedding claims no privacy.{besides}"
    words = [privacy_sentence(privacy)]
    if public:
        words.append(f"It may rest on {' and '.join(public)} besides, which were taken as public.")
    if costs:
        words.append(
            f"Reports are simulated with seed {seed}, and whoever knows a seed can undo the noise: "
            "publish no embedding of real people that was made so."
        )
    return " ".join(words)
