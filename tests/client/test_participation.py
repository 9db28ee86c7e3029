"""Taking part again: which agreement counts, and what came of a visit."""

import pytest

from graphveil.channels.exact import Claim
from graphveil.client import Held, Visited, enrol, visit
from graphveil.client.visit import VisitSummary, check_links, known_agreement
from graphveil.errors import InputError, RefusalError
from tests.client.support import (
    AGREEMENT,
    COLLECTION,
    HELD,
    INVITATION,
    NOW,
    URL,
    Server,
    calls,
    new_device,
    values,
)


@pytest.fixture
def device(folder):
    return new_device(folder)


def test_an_agreement_is_known_by_its_server_and_holds(device):
    server = calls(Server())
    assert known_agreement(device, server, URL, INVITATION.token()) is None
    enrol(device, server, URL, INVITATION.token(), HELD, clock=lambda: NOW - 10)
    assert known_agreement(device, server, URL, None) == AGREEMENT
    with pytest.raises(InputError, match="takes part in no collection of http://other yet"):
        known_agreement(device, server, "http://other", None)
    with pytest.raises(InputError, match="without a list of links"):
        check_links(AGREEMENT, Held(neighbour_ids=("p3",)))


def test_a_visit_is_summed_up_from_the_books(device):
    server = calls(Server(plans=[values()]))
    enrol(device, server, URL, INVITATION.token(), HELD, clock=lambda: NOW - 10)
    summary = VisitSummary.of(device, COLLECTION, visit(device, server, COLLECTION, HELD), False)
    assert not summary.failed and summary.left.epsilon == 3.0
    assert summary.sentences == [
        "Round 1: answered, and kept by the collector.",
        "Spent in this collection: ε = 1; left of the cap: 3; spent by this device in all: 1.",
    ]
    assert summary.to_dict()["questions"] == [
        {"round": 1, "epsilon": 1.0, "delivered": True, "status": 201, "refused": None}
    ]


def test_books_in_doubt_are_said_once_and_nothing_is_left():
    doubt = RefusalError("memory", "the books are old")
    told = {"row_given": False, "doubt": doubt, "left": Claim(0.0, 0.0), "lifetime": Claim(1.0, 0.0)}
    for questions in ((), (Visited(None, doubt),)):
        summary = VisitSummary(COLLECTION, questions, spent_in_all=1.0, **told)
        assert summary.failed and not summary.claim_broken
        assert summary.sentences[-1] == "Spent in this collection: at least ε = 1."
        assert summary.sentences.count("Refused (memory): the books are old.") == 1
