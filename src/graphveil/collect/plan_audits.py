"""Audits that a collection needs before it publishes a plan: none for the package's own mechanisms, one of the very plan for others.

A mechanism of the package has tables and a test of its own. What another mechanism sends is its author's word, so its plan is
published where `graphveil audit NAME --plan PLAN --collection DIR` held, for the same plan and the same code.
"""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

from sqlalchemy import Connection, select

from graphveil.audit import Audit
from graphveil.collect.operators import note
from graphveil.collect.schema import ACTIONS
from graphveil.errors import InputError
from graphveil.mechanisms import entry
from graphveil.mechanisms.registry import is_own, is_own_builder
from graphveil.plugins import is_reference
from graphveil.privacy import Plan
from graphveil.privacy.plan import plan_digest

AUDIT = "audit"
# Where plans that wait for an audit are written, in a collection's folder.
PLANS = "plans"


def keep_audit(connection: Connection, plan: Plan, audited: Audit) -> None:
    """Write down that the audit of a plan held."""
    if not audited.holds:
        raise InputError(
            f"the audit of {plan.mechanism} did not hold, so it is not kept: mend the mechanism, or give the audit more time"
        )
    note(connection, AUDIT, _record(plan))


def check_audited(connection: Connection, plan: Plan, folder: Path) -> None:
    """Refuse a plan whose mechanism does not come with the package and was not audited; the plan is written down to be."""
    if is_own_builder(entry(plan.mechanism).build) and is_own(plan.build()):
        return
    if is_reference(plan.mechanism):
        raise InputError(
            f"{plan.mechanism} is a path on this machine, which names nothing on a device: register the mechanism under a name "
            "(`graphveil.register`), in a package that devices have too"
        )
    kept = select(ACTIONS.c.number).where(ACTIONS.c.action == AUDIT, ACTIONS.c.detail == _record(plan))
    if connection.execute(kept).first() is not None:
        return
    file = folder / PLANS / f"{plan_digest(plan)[:16]}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(plan.to_json(), encoding="utf-8")
    raise InputError(
        f"{plan.mechanism} does not come with graphveil, and this plan was not audited with the code that is here: run "
        f"`graphveil audit FILE.py:{plan.mechanism} --plan {file} --collection {folder}`, then publish again"
    )


def _record(plan: Plan) -> str:
    return f"plan {plan_digest(plan)} by code {code_digest(plan)}: held"


def code_digest(plan: Plan) -> str:
    """The SHA-256 of the files that a plan's mechanism is written in: of the function that builds it and of its classes."""
    built = plan.build()
    written = [inspect.unwrap(entry(plan.mechanism).build), *type(built).__mro__]
    digests = set()
    for each in written:
        # Classes of Python itself are in no file.
        if getattr(each, "__module__", "builtins") in ("builtins", "abc"):
            continue
        try:
            digests.add(hashlib.sha256(Path(inspect.getfile(each)).read_bytes()).hexdigest())
        except (OSError, TypeError):
            raise InputError(
                f"the code of {plan.mechanism} is in no file that can be read, so no audit can vouch for it: put it into a file"
            ) from None
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
