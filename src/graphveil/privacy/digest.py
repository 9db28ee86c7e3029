"""The digest of a plan: its name on devices and in collections, whatever its JSON looked like."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphveil.channels.canonical import digest
from graphveil.privacy.plan import Plan

# Whole numbers up to here are the same as floats and as integers, in any language.
WHOLE = 1 << 53


def plan_digest(plan: Plan) -> str:
    """The SHA-256 of a plan's canonical bytes: 64 hexadecimal digits. Equal plans have equal digests.

    >>> one = Plan.from_json('{"mechanism": "krr", "epsilon": 1, "classes": 3, "users": [7]}')
    >>> other = Plan.from_json('{"users": [7], "round": 1, "classes": 3, "epsilon": 1.0, "mechanism": "krr"}')
    >>> plan_digest(one) == plan_digest(other)
    True
    """
    return digest(described(plan))


def described(plan: Plan) -> dict[str, Any]:
    """What the digest is of: every field that is set, users and tables as arrays, a model as its own digest."""
    fields = {name: getattr(plan, name) for name in Plan.model_fields}
    told = {name: value for name, value in fields.items() if value is not None}
    if plan.users != "all":
        told["users"] = np.array(plan.users, dtype=np.int64)
    for name in ("lists", "offsets"):
        if name in told:
            told[name] = told[name].array
    if plan.model is not None:
        told["model"] = plan.model.digest
    for name in ("epsilon", "delta", "range"):
        if name in told:
            told[name] = _positive_zero(told[name])
    told["options"] = _option(plan.options)
    return told


def _positive_zero(number: Any) -> Any:
    """The same numbers, where 0 has no sign."""
    return [each + 0.0 for each in number] if isinstance(number, tuple) else number + 0.0


def _option(value: Any) -> Any:
    """An option, where a whole number is an integer: JSON of some languages does not tell 1 from 1.0."""
    if isinstance(value, dict):
        return {key: _option(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_option(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= WHOLE:
        return int(value)
    return value
