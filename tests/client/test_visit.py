"""A device visits a collector: all that leaves it was charged before, and nothing leaves without its owner."""

import ast
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import graphveil.client
import graphveil.client.device as device_module
from graphveil import InputError, Plan, Reports
from graphveil.channels.exact import Claim
from graphveil.client import Calls, Cap, Held, Response, Visited, enrol, give_row, visit
from graphveil.client.visit import VisitSummary, check_links, known_agreement
from graphveil.errors import RefusalError, ServerError
from graphveil.privacy import Envelope, Invitation
from graphveil.privacy.credential import credential_hash
from tests.client.support import (
    AGREEMENT,
    COLLECTION,
    HELD,
    INVITATION,
    NOW,
    OFFER,
    ROW,
    URL,
    USER,
    Server,
    asked,
    calls,
    credentials_of,
    digits_of_row,
    enrolled,
    new_device,
    private_key,
    public_key,
    refusal,
    succession,
    values,
)

TOKEN = INVITATION.token()


def test_an_enrolment_is_kept_and_can_be_repeated(folder):
    server = Server()
    device = enrolled(folder, server)
    assert device.agreements() == (AGREEMENT,)
    assert credential_hash(credentials_of(device).current).hex() == server.known
    server = Server()
    before = credentials_of(enrolled(folder, server)).current
    device = enrolled(folder, server)
    assert len(device.agreements()) == 1 and credentials_of(device).current == before


def test_a_visit_to_a_server_that_is_slow_at_each_call_ends(folder):
    server, now = Server(), [0.0]
    device = enrolled(folder, server)
    server.plans = [values(epsilon=0.1, round=number) for number in range(1, 9)]

    def slow(attempt):
        now[0] += 120.0
        return attempt()

    slow_calls = Calls(server, slow, clock=lambda: now[0])
    with pytest.raises(ServerError, match="takes too long in all"):
        visit(device, slow_calls, COLLECTION, HELD)
    # The time is for one visit.
    assert now[0] <= 900.0 + 120.0 and slow_calls.offer() == OFFER


def test_a_purpose_of_signs_is_a_purpose(folder):
    signs = '":{[,' * 400
    server = Server(offer={"purpose": signs})
    (agreement,) = enrolled(folder, server).agreements()
    question = asked(values(), purpose=signs)
    assert new_device(folder).look(agreement.collection, question).question.purpose == signs


def test_the_owners_cap_and_exclusions_are_agreed_on(folder):
    server = Server()
    (agreement,) = enrolled(folder, server, cap=Cap(1.0), excluded=(3, 1)).agreements()
    assert (agreement.cap, agreement.excluded) == (Cap(1.0), (1, 3))


def test_a_collection_that_has_grown_is_the_same_and_what_was_agreed_on_stays(folder):
    enrolled(folder, Server(offer={"people": 10}))
    (agreement,) = enrolled(folder, Server(offer={"people": 10**6})).agreements()
    assert agreement.offer.people == 10


def test_a_server_with_another_key_than_the_invitation_is_refused_before_anything_is_sent(folder):
    server, other = Server(), Invitation(INVITATION.secret, bytes(32)).token()
    with pytest.raises(RefusalError, match="not the collection that invited you") as caught:
        enrol(new_device(folder), calls(server), URL, other, HELD)
    assert caught.value.reason == "key"
    assert [path for _, path, *_ in server.calls] == ["/v1/collection", "/v1/keys"]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"excluded": (4,)}, "an excluded attribute must be an integer from 0 to 3"),
        ({"held": Held(row=ROW[:2])}, "rows of 4"),
        ({"held": Held()}, "holds nothing"),
        ({"excluded": (1,), "volunteer": True}, "exclude nothing, or do not volunteer"),
        ({"token": "wrong"}, "the token is none"),
    ],
)
def test_terms_that_do_not_fit_are_refused_before_anything_is_sent(folder, terms, said):
    server = Server()
    told = {"token": TOKEN, "held": HELD, **terms}
    with pytest.raises(InputError, match=said):
        enrol(new_device(folder), calls(server), URL, **told)
    assert all(method == "GET" for method, *_ in server.calls)


def test_an_owner_who_does_not_agree_does_not_take_part(folder):
    server, asked_for = Server(), []

    def agree(offer, cap):
        asked_for.append((offer.purpose, cap))
        return False

    assert refusal(enrol, new_device(folder), calls(server), URL, TOKEN, HELD, agree=agree) == "owner"
    assert asked_for == [("to learn what people like", Cap(4.0, 1e-4))]
    assert all(method == "GET" for method, *_ in server.calls)


def test_refusals_are_told_and_the_next_question_is_answered(folder):
    server = Server(plans=[values(range=(0, 0.5)), values()])
    seen = visit(enrolled(folder, server), calls(server), COLLECTION, HELD)
    assert seen[0].refusal.reason == "range" and not seen[0].delivered
    assert seen[1].delivered and list(server.reports) == [2]


def test_an_owner_who_does_not_agree_sends_nothing_and_spends_nothing(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server)
    (seen,) = visit(device, calls(server), COLLECTION, HELD, lambda inquiry: False)
    assert seen.inquiry is not None and not seen.delivered
    assert device.spendings()[0].lines == () and server.reports == {}


def test_a_lost_connection_is_no_second_answer(folder):
    server = Server(plans=[values(mechanism="onebit")])
    device, sent = enrolled(folder, server), []

    def losing(method, path, body=None, headers=None, limit=0):
        if method == "PUT":
            sent.append(body)
            if len(sent) == 1:
                raise ServerError(0, "the connection was lost")
        return server(method, path, body, headers)

    with pytest.raises(ServerError):
        visit(device, calls(losing), COLLECTION, HELD)
    (seen,) = visit(device, calls(losing), COLLECTION, HELD)
    assert seen.delivered and sent[0] == sent[1]
    assert len(device.spendings()[0].lines) == 1


def test_a_server_that_has_another_answer_says_so(folder):
    server = Server(plans=[values()], counted=Response(404))
    server.reports[7] = b"other"
    device = enrolled(folder, server)

    def stale(method, path, body=None, headers=None, limit=0):
        if method == "PUT":
            path = path.replace("/rounds/1/", "/rounds/7/")
        return server(method, path, body, headers)

    (seen,) = visit(device, calls(stale), COLLECTION, HELD)
    assert (seen.status, seen.delivered, seen.said) == (409, False, "other")


class Watching:
    """A transport that looks into the books, as they are on the disk, at the moment when an answer leaves."""

    def __init__(self, server, file):
        self.server, self.file, self.seen = server, file, 0

    def __call__(self, method, path, body=None, headers=None, limit=0):
        if method == "PUT":
            self.seen += 1
            with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as books:
                if path == "/v1/row":
                    (given,) = books.execute("SELECT row_given FROM agreements").fetchone()
                    assert given is not None, "a row leaves that nobody has put down"
                else:
                    digest = Envelope.from_bytes(body).digest
                    found = books.execute(
                        "SELECT envelope, costs FROM lines WHERE digest = ?", (digest,)
                    ).fetchall()
                    assert [(envelope, costs != "[0.0]") for envelope, costs in found] == [(body, True)], (
                        "an answer leaves that nobody has paid for"
                    )
            books.close()
        return self.server(method, path, body, headers)


def watched_visit(folder):
    server = Server(plans=[values(), values(mechanism="laplace", of="norm", dims=1, range=(0, 2))])
    device = enrolled(folder, server, volunteer=True)
    watching = Watching(server, device.path)
    visit(device, calls(watching), COLLECTION, HELD)
    give_row(device, calls(watching), COLLECTION, HELD)
    assert watching.seen == 3


def test_what_leaves_is_on_the_disk_as_a_charge(folder):
    watched_visit(folder)


@pytest.mark.parametrize(
    ("method", "instead", "said"),
    [
        ("charge", lambda self, lines: self.mark, "nobody has paid for"),
        ("give_row", lambda self, collection, now: None, "nobody has put down"),
    ],
)
def test_a_device_that_does_not_put_down_what_leaves_is_noticed(folder, monkeypatch, method, instead, said):
    monkeypatch.setattr(device_module.Books, method, instead)
    with pytest.raises(AssertionError, match=said):
        watched_visit(folder)


SOURCE = Path(graphveil.client.__file__).parent


def names_called(file):
    """Functions and methods that a file calls, by their last name."""
    found = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return {getattr(func, "attr", None) or getattr(func, "id", None) for func in found}


def test_one_function_draws_and_one_gives_a_row():
    files = {file.name: names_called(file) for file in SOURCE.glob("*.py")}
    assert [name for name, called in files.items() if "randomize" in called] == []
    assert sorted(name for name, called in files.items() if "send" in called) == ["visit.py"]
    assert sorted(name for name, called in files.items() if "send_row" in called) == ["visit.py"]
    assert [file.name for file in SOURCE.glob("*.py") if "held.row" in file.read_text()] == ["device.py"]
    drawing = [
        node.name
        for node in ast.walk(ast.parse((SOURCE / "device.py").read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(c, ast.Call) and getattr(c.func, "id", "") == "answer" for c in ast.walk(node))
    ]
    assert drawing == ["_drawn"]


def test_no_refusal_or_outcome_shows_a_value(folder):
    server = Server(plans=[values(range=(0, 0.5)), values(), values(epsilon=9.0)])
    seen = visit(enrolled(folder, server), calls(server), COLLECTION, HELD)
    assert digits_of_row(repr(seen)) == []
    assert digits_of_row(repr(asked(values()))) == []


LINKS = Plan(mechanism="link-rr", epsilon=2.0, dims=40, users=(USER,))


def linked(folder, server, ids):
    """A device whose owner has a list of links, and what is held."""
    device, held = new_device(folder), replace(HELD, neighbour_ids=ids)
    enrol(device, calls(server), URL, TOKEN, held, clock=lambda: NOW - 10)
    return device, held


@pytest.mark.parametrize("ids", [("p3", "p11", "nobody"), ()])
def test_links_are_answered_by_ids_and_an_empty_list_is_answered_like_any(folder, ids):
    server = Server(plans=[LINKS, values()], offer={"private_links": True})
    device, held = linked(folder, server, ids)
    assert device.agreements()[0].subjects == ("features", "links")
    assert [each.status for each in visit(device, calls(server), COLLECTION, held)] == [201, 201]
    asked_for = [f"{method} {path.rsplit('/', 1)[0]}" for method, path, *_ in server.calls]
    get, reports = "GET /v1", [f"PUT /v1/rounds/{number}/reports" for number in (1, 2)]
    assert asked_for == [get, get, "POST /v1", get, get, get, get, *reports]
    assert sum(path == "/v1/people" for _, path, *_ in server.calls) == 1


def test_people_are_looked_up_only_where_links_are_asked_for(folder):
    server = Server(plans=[values()], offer={"private_links": True})
    device, held = linked(folder, server, ("p3",))
    visit(device, calls(server), COLLECTION, held)
    assert all(path != "/v1/people" for _, path, *_ in server.calls)


@pytest.mark.statistical
def test_a_nearly_certain_answer_names_the_neighbours_with_smaller_numbers(folder):
    # One of 17 answers is wrong in one of 28 million cases.
    sure = LINKS.model_copy(update={"epsilon": 20.0})
    server = Server(plans=[sure], offer={"private_links": True, "cap": {"epsilon": 50.0}})
    device, held = linked(folder, server, ("p3", "p11", "p30", "stranger"))
    visit(device, calls(server), COLLECTION, held)
    message = Envelope.from_bytes(server.reports[1]).message
    assert Reports.from_bytes(message, sure.build()).codes.tolist() == [3, 11]


NAMED = [f"p{number}" for number in range(50)]


# Somebody with two numbers; and more people than are named, though a collection that has grown names more than it asks about.
@pytest.mark.parametrize(
    ("people", "ids", "said", "later"),
    [(["p1"] * 2, (), "", 40), (NAMED[:39], ("p3",), "counts on 40 people", 50)],
)
def test_people_who_do_not_fit_the_question_are_refused_and_cost_nothing(folder, people, ids, said, later):
    server = Server(plans=[LINKS], offer={"private_links": True}, people=people)
    device, held = linked(folder, server, ids)
    (seen,) = visit(device, calls(server), COLLECTION, held)
    assert seen.refusal.reason == "people" and said in str(seen.refusal)
    assert device.spendings()[0].lifetime.epsilon == 0 and not server.reports
    server.people = NAMED[:later]
    (seen,) = visit(device, calls(server), COLLECTION, held)
    assert seen.delivered


def test_links_are_not_given_to_a_collection_that_asks_for_none(folder):
    server = Server(plans=[LINKS])
    with pytest.raises(InputError, match="asks nobody for links"):
        linked(folder, server, ("p3",))
    assert [path for _, path, *_ in server.calls] == ["/v1/collection", "/v1/keys"]
    device = new_device(folder)
    held = replace(HELD, neighbours=[3])
    agreement = enrol(device, calls(server), URL, TOKEN, held, clock=lambda: NOW - 10)
    assert agreement.subjects == ("features",)
    (seen,) = visit(device, calls(server), COLLECTION, held)
    assert seen.refusal.reason == "subject"


def rotated(server, count):
    """The same server after so many changes of its key."""
    server.private = private_key(count)
    server.successions = [succession(number) for number in range(1, count + 1)]
    return server


def test_a_visit_follows_the_key_before_it_answers(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server)
    rotated(server, 2)
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.delivered and device.keys(COLLECTION)[-1] == public_key(private_key(2))
    server.plans.append(values(round=2))
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.delivered


def test_a_server_that_was_set_back_gets_no_answer(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server)
    visit(device, calls(rotated(server, 1)), COLLECTION, HELD)
    server.plans.append(values(round=2))
    with pytest.raises(RefusalError, match="shows 0 changes of the key") as caught:
        visit(device, calls(rotated(server, 0)), COLLECTION, HELD)
    assert caught.value.reason == "key" and list(server.reports) == [1]


def test_a_server_with_another_key_and_no_succession_gets_no_answer(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server)
    server.private = private_key(1)
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.refusal.reason == "signature" and not server.reports


@pytest.mark.parametrize("invited", [0, 1, 2])
def test_an_invitation_from_before_a_change_is_good_after_it(folder, invited):
    server, device = rotated(Server(plans=[values()]), 2), new_device(folder)
    token = Invitation(b"sixteen bytes...", public_key(private_key(invited))).token()
    agreement = enrol(device, calls(server), URL, token, HELD, clock=lambda: NOW)
    assert agreement.offer.key == public_key(private_key(2))
    assert len(device.keys(COLLECTION)) == 3
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.delivered
    with pytest.raises(RefusalError, match="this device has followed 2"):
        visit(device, calls(rotated(server, 1)), COLLECTION, HELD)


def test_enrolling_again_after_a_change_is_the_same(folder):
    server = Server()
    device = enrolled(folder, server)
    enrol(device, calls(rotated(server, 1)), URL, TOKEN, HELD, clock=lambda: NOW)
    assert len(device.agreements()) == 1 and len(device.keys(COLLECTION)) == 2


def set_back(folder, server):
    """A device whose whole disk is restored to a time when it had answered one round of two."""
    device = enrolled(folder, server)
    visit(device, calls(server), COLLECTION, HELD)
    for name in ("books", "witnesses"):
        shutil.copytree(folder / name, folder / "image" / name)
    server.plans.append(values(round=2, epsilon=2.0))
    visit(device, calls(server), COLLECTION, HELD)
    for name in ("books", "witnesses"):
        shutil.rmtree(folder / name)
        shutil.copytree(folder / "image" / name, folder / name)
    server.plans.append(values(round=3))
    return new_device(folder)


def outcome(seen):
    return [each.refusal.reason if each.refusal else each.delivered for each in seen]


def test_a_restored_disk_is_noticed_by_what_the_collector_has(folder):
    server = Server(plans=[values()])
    device = set_back(folder, server)
    assert device.doubt(COLLECTION) is None
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == ["memory"]
    assert device.doubt(COLLECTION) is not None and list(server.reports) == [1, 2]
    # A lower count takes nothing back.
    server.counted = Response(200, b'{"answered": 0}')
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == ["memory"]


def test_after_the_owner_has_said_what_was_spent_the_count_is_accepted(folder):
    server = Server(plans=[values()])
    device = set_back(folder, server)
    visit(device, calls(server), COLLECTION, HELD)
    device.recover({COLLECTION: Claim(3.0, 0.0)})
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == [True]
    assert device.spendings()[0].left.epsilon == pytest.approx(0.0)
    server.plans.append(values(round=4))
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == ["cap"]
    # One more than was accepted and answered since is noticed again.
    server.counted = Response(200, b'{"answered": 4}')
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == ["memory"]


def test_a_lying_count_stops_no_other_collection_and_charges_nothing(folder):
    server = Server(plans=[values()], counted=Response(200, b'{"answered": 9007199254740991}'))
    device, other = enrolled(folder, server), "c1" * 16
    offer = replace(AGREEMENT.offer, collection=other)
    device.agree(replace(AGREEMENT, offer=offer))
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == ["memory"]
    assert device.doubt(other) is None and device.spendings()[0].lines == ()
    device.answer(other, asked(values(), collection=other), HELD)
    device.recover({COLLECTION: Claim(1.0, 0.0)})
    assert [each.left.epsilon for each in device.spendings()] == [3.0, 3.0]
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == [True]


@pytest.mark.parametrize(
    "counted",
    [
        *(Response(status, b'{"answered": 5}') for status in (204, 401, 404, 405, 500)),
        *(
            Response(200, told)
            for told in (
                *(b"", b"[]", b"7", b"{}", b'{"answered": null}', b'{"answered": true}'),
                *(b'{"answered": 5.0}', b'{"answered": -1}', b'{"answered": "5"}', b'{"answered": [5]}'),
                *(b'{"answered": 9007199254740992}', b'{"answered": 1e400}', b"[" * 100_000),
            )
        ),
    ],
    ids=lambda response: f"{response.status}-{response.body[:20]!r}",
)
def test_what_is_no_count_changes_nothing(folder, counted):
    server = Server(plans=[values()], counted=counted)
    device = enrolled(folder, server)
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == [True]
    assert device.doubt(COLLECTION) is None


def test_answers_that_were_charged_and_never_arrived_are_no_loss_of_memory(folder):
    server = Server(plans=[values(), values(round=2)])
    device = enrolled(folder, server)
    for number in (1, 2):
        device.answer(COLLECTION, asked(values(round=number)), HELD)
    server.counted = Response(200, b'{"answered": 0}')
    assert outcome(visit(device, calls(server), COLLECTION, HELD)) == [True, True]


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
