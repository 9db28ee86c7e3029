"""The collector over HTTP, call by call."""

import asyncio
import base64
import io
import json
import logging

import numpy as np
import pytest

from graphveil.client.keys import holds
from graphveil.collect.keys import word
from graphveil.collect.service import RateLimit
from graphveil.errors import StoreError
from graphveil.mechanisms import Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy import Plan
from graphveil.privacy.credential import credential_hash, new_credential
from graphveil.privacy.envelope import (
    MAX_QUESTIONS,
    Question,
    SignedQuestion,
    question_numbers,
    questions_limit,
)
from tests.collect.small import (
    PLAN,
    address,
    arrived,
    asking,
    bearer,
    enrolled,
    envelope,
    later,
    made,
    messages,
    rows_of,
    served,
)

PROBLEM = "application/problem+json"


def exchange(collection, *requests, **options):
    """The answers to requests that are sent one after the other: (method, path, arguments of httpx)."""

    async def sent(client):
        return [await client.request(method, path, **told) for method, path, told in requests]

    return served(collection, sent, **options)


def put(collection, round, node, credentials, body=None, **told):
    content = envelope(collection, round, node) if body is None else body
    return "PUT", address(round, node), {"content": content, "headers": bearer(credentials[node]), **told}


def statuses(responses):
    return [response.status_code for response in responses]


def test_anybody_may_read_what_is_collected(local):
    (offer,) = exchange(local, ("GET", "/v1/collection", {}))
    assert offer.json() == {
        "collection": local.settings.id,
        "cap": {"epsilon": 2.0, "delta": 0.0},
        "people": 12,
        "purpose": "to test",
        "dims": 8,
        "range": [0.0, 1.0],
        "binary": False,
        "classes": 2,
        "volunteers": True,
        "private_links": False,
        "retention": None,
        "key": local.key.public.hex(),
    }


def told_enrolment(secret, credential="A" * 43, **told):
    told = {"cap": {"epsilon": 1.5}, "excluded": [3, 1], **told}
    return {"json": {"token": word(secret), "credential_hash": credential_hash(credential).hex(), **told}}


def test_what_cannot_be_agreed_to_is_refused_as_is_an_unknown_token(local):
    wrong = [
        {"cap": {"epsilon": 3.0}},
        {"cap": {"epsilon": -1.0}},
        {"cap": {"epsilon": 1.0, "delta": 0.1}},
        {"excluded": [8]},
        {"excluded": [-1]},
        {"token": "short"},
        {"credential_hash": "00" * 31},
        {"credential_hash": None},
        {"unknown": 1},
        {"volunteer": 1},
    ]
    # An invitation each, so that no refusal depends on another.
    right = [told_enrolment(invited.secret)["json"] for invited in local.invite()]
    bodies = [{"json": {**own, **told}} for own, told in zip(right, wrong, strict=False)]
    answers = exchange(local, *(("POST", "/v1/enrolment", body) for body in bodies))
    kinds = [(each.status_code, each.headers["content-type"]) for each in answers]
    assert [told for told, kind in zip(wrong, kinds, strict=True) if kind != (422, PROBLEM)] == []
    assert not local.roster().enrolled.any()
    assert statuses(exchange(local, ("POST", "/v1/enrolment", told_enrolment(bytes(16))))) == [401]


def test_questions_are_signed_and_are_those_of_the_user(collection):
    credentials = enrolled(collection)
    collection.publish(PLAN.model_copy(update={"users": (2, 5)}), later())
    label = collection.publish(Plan(mechanism="krr", epsilon=0.5, classes=2, round=2), later())
    asked, other = exchange(
        collection,
        ("GET", "/v1/questions", {"headers": bearer(credentials[5])}),
        ("GET", "/v1/questions", {"headers": bearer(credentials[3])}),
    )
    signed = [SignedQuestion.from_dict(each) for each in asked.json()]
    assert all(holds(collection.key.public, each.signature, each.signed) for each in signed)
    questions = [Question.from_payload(each.payload) for each in signed]
    assert [question.round for question in questions] == [1, 2]
    assert [question.plan.users for question in questions] == [(5,), (5,)]
    assert questions[0].collection == collection.settings.id and questions[0].purpose == "to test"
    (one,) = [Question.from_payload(SignedQuestion.from_dict(each).payload) for each in other.json()]
    assert one.plan == label.plan.part([3]) and one.expires == label.expires


def test_what_is_answered_closed_or_over_is_not_asked(collection, monkeypatch):
    credentials = enrolled(collection)
    for number in (1, 2, 3):
        plan = Plan(mechanism="krr", epsilon=0.1, classes=2, round=number)
        opened = collection.publish(plan, later(10 if number == 3 else 3600))
        if number == 1:
            arrived(collection, opened, [0])
    collection.close(2, force=True)
    get = ("GET", "/v1/questions", {"headers": bearer(credentials[0])})
    (now,) = exchange(collection, get)
    rounds = [json.loads(base64.b64decode(each["payload"]))["round"] for each in now.json()]
    assert rounds == [3]
    after = later(20)
    monkeypatch.setattr("graphveil.collect.service.time.time", lambda: after)
    (over,) = exchange(collection, get)
    assert over.json() == []


def test_the_same_report_again_is_the_same_and_other_bytes_or_the_id_of_somebody_else_are_refused(collection):
    credentials, opened = asking(collection)
    first, second = messages(opened, [5])[5], messages(opened, [5])[5]
    while first == second:
        second = messages(opened, [5])[5]
    once, other = (
        put(collection, opened, 5, credentials, envelope(collection, opened, 5, each))
        for each in (first, second)
    )
    assert statuses(exchange(collection, once, once, other)) == [201, 200, 409]
    # A process that was started anew knows it too.
    assert statuses(exchange(collection, once)) == [200]
    assert collection.round(1).answered == 1
    taken, requests = "ab" * 16, []
    for node in (3, 4):
        told = put(collection, opened, node, credentials, envelope(collection, opened, node, report=taken))[2]
        requests.append(("PUT", f"/v1/rounds/1/reports/{taken}", told))
    assert statuses(exchange(collection, *requests)) == [201, 409]


def test_a_round_that_is_closed_meanwhile_takes_nothing_new_and_still_knows_what_it_has(collection):
    credentials, opened = asking(collection)
    stored, new = (put(collection, opened, node, credentials) for node in (3, 4))

    async def closed_meanwhile(client):
        before = await client.request(stored[0], stored[1], **stored[2])
        collection.close(1, force=True)
        return before, await client.request(new[0], new[1], **new[2])

    assert statuses(served(collection, closed_meanwhile)) == [201, 410]
    assert statuses(exchange(collection, stored, new)) == [200, 410]


def damaged(body, place=80):
    changed = bytearray(body)
    changed[place] ^= 1
    return bytes(changed)


def test_what_does_not_answer_the_question_is_refused(local):
    credentials = enrolled(local)
    opened = local.publish(PLAN.model_copy(update={"users": (0, 1, 2, 3)}), later())
    whole = envelope(local, opened, 3)
    inner = messages(opened, [3])[3]
    two = local.publish(PLAN.model_copy(update={"round": 2}), later())
    wrong = {
        "another plan": envelope(local, two, 3, report=address(opened, 3)[-32:]),
        "does not match": damaged(whole),
        "truncated": whole[:-5],
        "another pseudonym": envelope(local, opened, 3, pseudonym="00" * 16),
        "another report id": envelope(local, opened, 3, report="00" * 16),
        "is truncated: 0 bytes": b"",
        "the message is truncated": envelope(local, opened, 3, message=inner[:20]),
        "checksum": envelope(local, opened, 3, message=damaged(inner, -1)),
    }
    for sentence, body in wrong.items():
        (refused,) = exchange(local, put(local, opened, 3, credentials, body))
        assert refused.status_code == 422 and sentence in refused.json()["detail"], sentence
        assert refused.headers["content-type"] == PROBLEM
    method, path, told = put(local, opened, 3, credentials)
    (missing,) = exchange(local, (method, path.replace("rounds/1", "rounds/9"), told))
    assert missing.status_code == 404 and missing.headers["content-type"] == PROBLEM
    assert local.round(1).answered == 0


def test_whoever_is_not_asked_and_a_code_beyond_the_alphabet_are_refused(local):
    credentials = enrolled(local)
    opened = local.publish(PLAN.model_copy(update={"users": (0, 1)}), later())
    body = envelope(local, opened, 1, pseudonym=local.roster().pseudonym[5].hex())
    request = ("PUT", address(opened, 1), {"content": body, "headers": bearer(credentials[5])})
    (refused,) = exchange(local, request)
    assert refused.status_code == 422 and "does not ask this device" in refused.json()["detail"]
    opened = local.publish(Plan(mechanism="krr", epsilon=1.0, classes=3), later())
    message = messages(opened, [3])[3]
    from zlib import crc32

    wrong = message[:64] + b"\x07"
    wrong += crc32(wrong).to_bytes(4, "little")
    (refused,) = exchange(local, put(local, opened, 3, credentials, envelope(local, opened, 3, wrong)))
    assert refused.status_code == 422 and "codes must be below 3" in refused.json()["detail"]


def test_too_large_is_refused_before_it_is_read(local):
    credentials, opened = asking(local)
    read = []

    async def endless():
        for _ in range(1000):
            read.append(1)
            yield b"x" * 100

    told = put(local, opened, 3, credentials, b"x" * 1000)
    said_so = put(local, opened, 3, credentials, endless())
    said_so[2]["headers"]["Content-Length"] = "100000"
    streamed = put(local, opened, 3, credentials, endless())
    assert statuses(exchange(local, told, said_so)) == [413, 413] and not read
    assert statuses(exchange(local, streamed)) == [413] and len(read) < 10


def test_too_fast_is_refused_with_when_to_come_again(local):
    credentials = enrolled(local)
    get = ("GET", "/v1/questions", {"headers": bearer(credentials[0])})
    other = ("GET", "/v1/questions", {"headers": bearer(credentials[1])})
    answers = exchange(local, get, get, get, other, rate_limit=RateLimit(a_second=0.1, at_once=2))
    assert statuses(answers) == [200, 200, 429, 200]
    assert 1 <= int(answers[2].headers["retry-after"]) <= 10


def test_without_a_credential_nothing_is_said(local):
    _, opened = asking(local)
    calls = [
        ("GET", "/v1/questions", {}),
        ("PUT", address(opened, 0), {"content": b""}),
        ("PUT", "/v1/row", {"json": {"values": []}}),
        ("DELETE", "/v1/me", {}),
        ("PUT", "/v1/credential", {"json": {"credential_hash": "00" * 32}}),
    ]
    words = ("Bearer x", "Basic eA==", f"Bearer {'A' * 43}", f"Bearer {'A' * 70}")
    headers = [{}, *({"Authorization": each} for each in words)]
    requests = [(method, path, {**more, "headers": each}) for each in headers for method, path, more in calls]
    answers = statuses(exchange(local, *requests))
    assert [asked for asked, status in zip(requests, answers, strict=True) if status != 401] == []


def test_volunteers_give_their_row_once(collection):
    credentials = enrolled(collection, volunteer=True)
    row = rows_of([2])[0].tolist()
    sparse = {"indices": [1, 7], "values": [0.5, 1.0]}

    def give(node, told):
        return "PUT", "/v1/row", {"json": told, "headers": bearer(credentials[node])}

    given = exchange(
        collection,
        give(2, {"values": row}),
        give(2, {"values": row}),
        give(2, {"values": row[::-1]}),
        give(1, sparse),
    )
    assert statuses(given) == [201, 200, 409, 201]
    panel = collection.panel()
    assert panel.users.tolist() == [1, 2]
    np.testing.assert_array_equal(panel.rows, [[0, 0.5, 0, 0, 0, 0, 0, 1], row])


def test_a_row_that_is_none_is_refused(local):
    wrong = [
        '{"values": [1]}',
        '{"values": [NaN,0,0,0,0,0,0,0]}',
        '{"values": [1e999,0,0,0,0,0,0,0]}',
        '{"values": ["1",0,0,0,0,0,0,0]}',
        '{"values": [1], "indices": [8]}',
        '{"values": [1, 1], "indices": [3, 3]}',
        '{"values": [1, 1], "indices": [3]}',
        "[]",
        "{",
    ]
    # A volunteer each, so that no refusal depends on another.
    headers = [bearer(credential) for credential in enrolled(local, volunteer=True).values()]
    requests = [
        ("PUT", "/v1/row", {"content": told, "headers": own})
        for told, own in zip(wrong, headers, strict=False)
    ]
    answers = statuses(exchange(local, *requests))
    assert [told for told, status in zip(wrong, answers, strict=True) if status != 422] == []
    assert local.panel() is None


def test_a_row_without_consent_is_refused(local):
    credentials = enrolled(local)
    request = ("PUT", "/v1/row", {"json": {"values": [0.0] * 8}, "headers": bearer(credentials[0])})
    assert statuses(exchange(local, request)) == [403]
    assert local.panel() is None


def test_whoever_wants_to_be_forgotten_is_nobody_for_any_call(tmp_path, database):
    linked = made(tmp_path / "c", private_links=True, database=database)
    credentials, opened = asking(linked, volunteer=True)
    sent, headers = put(linked, opened, 3, credentials), {"headers": bearer(credentials[3])}
    me, row = ("DELETE", "/v1/me", headers), ("PUT", "/v1/row", {"json": {"values": [0.0] * 8}, **headers})
    calls = [("GET", "/v1/people", headers), ("GET", "/v1/questions", headers), me, row, sent]
    before, gone, *answers = exchange(linked, sent, me, *calls)
    assert statuses([before, gone, *answers]) == [201, 204] + [401] * 5
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert linked.round(1).answered == 0
    linked.database.close()


def test_health_readiness_and_numbers(local):
    credentials, opened = asking(local)
    request = put(local, opened, 3, credentials)
    answers = exchange(
        local, ("GET", "/healthz", {}), ("GET", "/readyz", {}), request, request, ("GET", "/metrics", {})
    )
    assert statuses(answers) == [200, 200, 201, 200, 200]
    numbers = answers[-1].text
    assert "graphveil_reports_stored_total 1.0" in numbers
    assert 'route="/v1/rounds/{round}/reports/{report}",status="201"} 1.0' in numbers


def test_a_database_that_is_gone_is_not_ready(local):
    async def removed(client):
        local.database.engine.dispose()
        for file in local.folder.glob("collection.sqlite*"):
            file.unlink()
        local.folder.joinpath("collection.sqlite").mkdir()
        return await client.get("/readyz")

    answer = served(local, removed)
    assert answer.status_code == 503 and answer.headers["content-type"] == PROBLEM


def test_pages_of_other_origins_may_call_only_where_they_are_named(local):
    ask = ("GET", "/v1/collection", {"headers": {"Origin": "https://one.example"}})
    header = "access-control-allow-origin"
    (closed,) = exchange(local, ask)
    (opened,) = exchange(local, ask, origins=["https://one.example"])
    (other,) = exchange(local, ask, origins=["https://two.example"])
    assert [header in answer.headers for answer in (closed, opened, other)] == [False, True, False]


def test_the_description_names_all_calls_and_every_refusal_is_a_problem(local):
    (answer,) = exchange(local, ("GET", "/openapi.json", {}))
    paths = """
        /v1/collection /v1/enrolment /v1/credential /v1/questions /v1/keys /v1/people /v1/row /v1/me
        /v1/rounds/{round}/reports/{report} /v1/operator/status /v1/operator/rounds/{round}/close
        /healthz /readyz /metrics
    """
    assert set(answer.json()["paths"]) == set(paths.split())
    calls = [("GET", "/nothing", {}), ("POST", "/v1/collection", {}), ("PUT", "/v1/rounds/x/reports/y", {})]
    refused = exchange(local, *calls)
    assert statuses(refused) == [404, 405, 422]
    assert [each.headers["content-type"] for each in refused] == [PROBLEM] * 3
    assert [set(each.json()) for each in refused] == [{"type", "title", "status", "detail"}] * 3


def test_nothing_of_a_request_is_logged(local):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    # What httpx itself writes is the client's.
    logging.getLogger("httpx").setLevel(logging.CRITICAL)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    secret, credential = local.invite()[0].secret, new_credential()
    enrol = ("POST", "/v1/enrolment", told_enrolment(secret, credential, excluded=[]))
    refused = ("POST", "/v1/enrolment", told_enrolment(secret, excluded=[]))
    try:
        (answer,) = exchange(local, enrol)
        opened = local.publish(PLAN, later())
        sent = put(local, opened, 0, {0: credential})
        wrong = put(local, opened, 0, {0: credential}, damaged(sent[2]["content"]))
        answers = exchange(local, sent, wrong, enrol, refused)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    said = stream.getvalue() + "".join(each.text for each in answers[1::2])
    private = (word(secret), credential, answer.json()["pseudonym"], address(opened, 0)[-32:])
    for each in (*private, credential_hash(credential).hex()):
        assert each not in said


def test_a_database_that_fails_once_does_not_end_retention(local, monkeypatch):
    swept = []

    def sometimes():
        swept.append(len(swept))
        if len(swept) == 1:
            raise StoreError("the disk is away")
        return 0

    monkeypatch.setattr("graphveil.collect.service.SWEEP", 0.001)
    monkeypatch.setattr(local, "delete_expired", sometimes)

    async def until_swept(_):
        for _ in range(1000):
            if len(swept) > 1:
                return
            await asyncio.sleep(0.001)

    served(local, until_swept)
    assert len(swept) > 1


def test_whoever_looks_at_questions_has_a_round_read_once(local, monkeypatch):
    credentials = enrolled(local)
    local.publish(PLAN, later())
    read, whole = [], local.round
    monkeypatch.setattr(local, "round", lambda number: read.append(number) or whole(number))
    looks = [("GET", "/v1/questions", {"headers": bearer(credentials[node])}) for node in (1, 2, 3)]
    assert [len(response.json()) for response in exchange(local, *looks)] == [1, 1, 1]
    assert read == [1]


def test_whoever_guesses_tokens_keeps_nobody_from_writing(local, monkeypatch):
    def written(*_):
        raise AssertionError("a guess reached the writer")

    monkeypatch.setattr("graphveil.collect.service.Writer.run", written)
    told = {"token": "A" * 22, "credential_hash": "00" * 32, "cap": {"epsilon": 1.0}}
    own = {"json": {"credential_hash": "00" * 32}, "headers": bearer("A" * 70)}
    guesses = [("POST", "/v1/enrolment", {"json": told}), ("PUT", "/v1/credential", own)]
    assert statuses(exchange(local, *guesses)) == [401, 401]


@pytest.mark.parametrize("mechanism", ["link-rr", "dprr", "blink"])
def test_links_are_taken_and_read_back_and_foreign_pairs_are_refused(tmp_path, mechanism):
    collection = made(tmp_path / "c", private_links=True, epsilon=9.0)
    credentials = enrolled(collection, epsilon=9.0)
    round = collection.publish(Plan(mechanism=mechanism, epsilon=9.0, dims=12), later())
    sent, built = messages(round, range(12)), round.plan.build()
    degree = [] if mechanism == "link-rr" else [12 + 5]
    # Pairs with larger numbers, and with oneself.
    wrong = [
        Reports(built, row_pointers(np.array([len(codes)])), None, np.array(codes, np.uint8)).to_bytes()
        for codes in ([8, 9, *degree], [7, *degree])
    ]

    def give(node, message):
        return put(collection, round, node, credentials, envelope(collection, round, node, message))

    refused = exchange(collection, *(give(7, message) for message in wrong))
    assert statuses(refused) == [422, 422]
    assert all("pair that is not theirs" in each.json()["detail"] for each in refused)
    assert statuses(exchange(collection, *(give(node, sent[node]) for node in range(12)))) == [201] * 12
    collection.close(1)
    read = collection.reports(1)
    assert read.asked == read.users == 12
    own = [Reports.from_bytes(sent[node], built) for node in range(12)]
    assert read.codes.tolist() == [code for each in own for code in each.codes.tolist()]
    collection.database.close()


def test_devices_keep_their_credentials_when_the_key_changes_and_questions_are_signed_by_it(local):
    credentials, round = asking(local)

    async def rotated(client):
        before = await client.get("/v1/questions", headers=bearer(credentials[1]))
        local.rotate()
        after = await client.get("/v1/questions", headers=bearer(credentials[1]))
        method, path, told = put(local, round, 1, credentials)
        return before, after, await client.request(method, path, **told)

    old = local.key.public
    before, after, sent = served(local, rotated)
    by_old, by_new = (SignedQuestion.from_dict(each.json()[0]) for each in (before, after))
    assert by_old.payload == by_new.payload
    assert holds(old, by_old.signature, by_old.signed)
    assert holds(local.key.public, by_new.signature, by_new.signed)
    assert not holds(old, by_new.signature, by_new.signed)
    assert sent.status_code == 201


def test_a_device_gets_no_more_questions_at_one_time_than_it_reads(local):
    credentials = enrolled(local)
    for number in range(1, MAX_QUESTIONS + 3):
        local.publish(PLAN.model_copy(update={"round": number, "epsilon": 0.01}), later())
    (first,) = exchange(local, ("GET", "/v1/questions", {"headers": bearer(credentials[3])}))
    assert len(first.json()) == MAX_QUESTIONS
    assert len(first.content) <= questions_limit(question_numbers(local.settings.dims, 0))


def test_a_bucket_empties_and_fills_for_each_of_a_few_senders():
    now = [0.0]
    limit = RateLimit(a_second=2.0, at_once=3, clock=lambda: now[0])
    assert [limit.wait("a") for _ in range(3)] == [0.0] * 3
    assert limit.wait("a") == 0.5
    now[0] = 0.5
    assert limit.wait("a") == 0.0 and limit.wait("a") == 0.5
    limit = RateLimit(a_second=1.0, at_once=1, clock=lambda: 0.0)
    assert limit.wait("a") == 0.0 and limit.wait("b") == 0.0 and limit.wait("a") == 1.0
    limit = RateLimit(a_second=1.0, at_once=1, remembered=10, clock=lambda: 0.0)
    for sender in range(1000):
        limit.wait(sender)
    assert len(limit._full) == 10
