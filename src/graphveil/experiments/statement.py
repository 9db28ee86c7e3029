"""The page of a privacy statement, for those who must sign off a collection."""

from __future__ import annotations

from graphveil.audit.statement import HEAD, PrivacyStatement
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.number_format import counted
from graphveil.privacy.record import number
from graphveil.version import __version__

NUMBERS = frozenset({"ε", "exact ε", "δ", "round"})
RECIPIENTS = (
    "Every line is something that leaves a device or is known without asking. Reported: the device adds the noise itself, and "
    "nobody else sees what it holds. Raw: it is read as it is, and no ε protects it."
)
COMPOSITION = (
    "Budgets add up over all that one person is asked (basic composition); whoever does not answer counts as if they had. Plans for "
    "different people do not add up: the most that anybody can spend counts."
)
FINGERPRINTS = "A device answers a plan only if it is signed, and computes these and the exact ε again from the plan's integer tables."
FOOTER = (
    f"graphveil {__version__}. ε and δ are those of local differential privacy; exact numbers are rounded up."
)


def statement_page(statement: PrivacyStatement) -> str:
    """Return the page."""
    facts = statement.collection
    title = "Privacy statement" if facts is None else f"Privacy statement: {facts.purpose}"
    sections = [
        _recipients(statement),
        _composition(statement),
        *_audits(statement),
        _fingerprints(statement),
    ]
    return page(title, statement.headline, sections, FOOTER)


def _recipients(statement: PrivacyStatement) -> Section:
    text, facts = [RECIPIENTS], statement.collection
    if facts is not None:
        days = facts.retention
        until = "until they are deleted by hand" if days is None else f"for {counted(days, 'day')}"
        text.append(
            f"{facts.enrolled:,} of {facts.users:,} people have enrolled. Reports are kept {until}; "
            f"{f'{facts.forgotten:,} of them' if facts.forgotten else 'nobody'} asked to be forgotten."
        )
    return Section("Who gets what", tuple(text), table=Table(HEAD, tuple(statement.rows), NUMBERS))


def _composition(statement: PrivacyStatement) -> Section:
    text, privacy, facts = [COMPOSITION], statement.privacy, statement.collection
    if privacy.total is not None:
        text.append(f"In all, nobody spends more than {privacy.total.most}.")
    if privacy.links is not None:
        text.append(f"Besides, a link {privacy.link_cost}.")
    if facts is not None:
        renewed = (
            f", but {facts.renewing:,} chose to renew it by period: their budgets add up beyond it"
            if facts.renewing
            else ""
        )
        text.append(
            f"People were offered a cap of {_claim(facts.epsilon, facts.delta)}. Their devices keep the books and refuse what "
            f"would pass it. It is for life{renewed}."
        )
    return Section("What it costs in all", tuple(text))


def _audits(statement: PrivacyStatement) -> list[Section]:
    """Return sections about what was proved and tested for each mechanism, and what no audit shows."""
    sections = []
    for fingerprint, audited in statement.audits.items():
        plans = ", ".join(each.name for each in statement.plans if each.fingerprint == fingerprint)
        claim = _claim(audited.claimed.epsilon, audited.claimed.delta)
        first = f"{plans}: the claim {claim} {'holds' if audited.holds else 'does not hold'}."
        text = [first, *audited.leaks, *audited.protects, *(f"On trust: {each}" for each in audited.trusts)]
        sections.append(Section(f"What was audited: {audited.name}", tuple(text)))
    gaps = dict.fromkeys(gap for audited in statement.audits.values() for gap in audited.not_covered)
    return [*sections, Section("What no audit shows", tuple(gaps))] if gaps else sections


def _claim(epsilon: float, delta: float) -> str:
    return f"ε = {number(epsilon)}" + (f", δ = {number(delta)}" if delta else "")


def _fingerprints(statement: PrivacyStatement) -> Section:
    rows = []
    for each in statement.plans:
        rows.append((each.name, "digest of the plan", each.digest))
        rows.append((each.name, "fingerprint of the mechanism", each.fingerprint))
    return Section("Fingerprints", (FINGERPRINTS,), table=Table(("plan", "what", "SHA-256"), tuple(rows)))
