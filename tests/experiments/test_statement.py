"""The page of a privacy statement: who gets what, what it costs in all, what was audited and what was not."""

from __future__ import annotations

import numpy as np

from graphveil.experiments.statement import statement_page
from graphveil.privacy.plan import plan_digest
from tests.audit.test_statement import FACTS, FEATURES, LINK_COST, NEIGHBOURS, stated


def test_the_page_has_digests_what_is_proved_and_what_is_not():
    page = statement_page(stated(FEATURES, collection=FACTS, asked=np.arange(9), answered=7))
    for told in (plan_digest(FEATURES), FEATURES.build().fingerprint, "It protects a row.", "Timing."):
        assert told in page
    assert "Privacy statement: to &lt;test&gt;" in page and "30 days" in page
    assert "a cap of ε = 4." in page and "It is for life." in page and "nobody spends more than ε = 1" in page


def test_a_reader_sees_the_claim_that_an_exact_epsilon_meets():
    assert "<summary>1 (exact, rounded up)</summary>" in statement_page(stated(FEATURES))


def test_what_leaks_stands_on_the_page():
    assert "It leaks." in statement_page(stated(FEATURES, leaks=["It leaks."]))


def test_what_a_link_costs_if_the_server_lies_stands_in_what_it_costs():
    assert f"Besides, a {LINK_COST}" in statement_page(stated(FEATURES, NEIGHBOURS))
