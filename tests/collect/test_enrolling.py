"""Enrolment: a token registers one credential, a lost answer can be asked for again, and a new token replaces the credential alone."""

import asyncio

from graphveil.collect.roster import Member, Refused, RosterAgreement, enrol
from graphveil.privacy import Plan
from graphveil.privacy.credential import credential_hash, new_credential
from tests.collect.small import PLAN, arrived, bearer, enrolled, later, served
from tests.collect.test_service import exchange, put, statuses, told_enrolment
from tests.together import each


def redeem(secret, credential, **told):
    return "POST", "/v1/enrolment", told_enrolment(secret, credential, **told)


def look(credential):
    return "GET", "/v1/questions", {"headers": bearer(credential)}


def test_a_token_enrols_one_device_and_a_lost_answer_is_given_again(collection):
    invited, own = collection.invite()[4], new_credential()
    request = redeem(invited.secret, own)
    first, again, terms, other = exchange(
        collection,
        request,
        request,
        redeem(invited.secret, own, excluded=[]),
        redeem(invited.secret, new_credential()),
    )
    assert first.status_code == again.status_code == 201 and first.json() == again.json()
    assert first.json() == {
        "collection": collection.settings.id,
        "pseudonym": invited.pseudonym.hex(),
        "user": 4,
        "key": collection.key.public.hex(),
    }
    assert (terms.status_code, other.status_code) == (422, 409)
    roster = collection.roster()
    assert roster.epsilon[4] == 1.5 and roster.excluded[4] == (1, 3) and roster.enrolled.sum() == 1
    assert statuses(exchange(collection, look(own))) == [200]


def test_a_lost_answer_is_given_again_after_something_was_sent_and_the_key_was_rotated(local):
    invited, own = local.invite()[4], new_credential()
    request = redeem(invited.secret, own, excluded=[])
    exchange(local, request)
    arrived(local, local.publish(PLAN, later()), [4])
    local.rotate()
    (again,) = exchange(local, request)
    assert again.status_code == 201 and again.json()["key"] == local.key.public.hex()


def test_of_two_devices_that_race_with_one_token_one_is_enrolled(collection):
    invited, own = collection.invite()[4], [new_credential() for _ in range(8)]

    async def run(client):
        requests = (redeem(invited.secret, each) for each in own)
        sent = (client.request(method, path, **told) for method, path, told in requests)
        answers = await asyncio.gather(*sent)
        looks = [await client.get("/v1/questions", headers=bearer(each)) for each in own]
        return statuses(answers), statuses(looks)

    enrolments, looks = served(collection, run)
    assert sorted(enrolments) == [201] + [409] * 7
    assert looks == [200 if each == 201 else 401 for each in enrolments]


def test_two_people_do_not_share_a_credential(local):
    first, second, *_ = local.invite()
    own = new_credential()
    answers = exchange(local, redeem(first.secret, own), redeem(second.secret, own))
    assert statuses(answers) == [201, 409] and "somebody else" in answers[1].json()["detail"]
    assert local.roster().enrolled.sum() == 1


def test_a_new_token_replaces_the_credential_and_nothing_else(collection):
    former, own = enrolled(collection, epsilon=1.5, excluded=(1, 3), renewal=30), new_credential()
    sent = arrived(
        collection, collection.publish(Plan(mechanism="krr", epsilon=0.5, classes=2), later()), [4, 5]
    )
    before = collection.roster()
    (invited,) = collection.invite(["p4"])
    assert (invited.node, invited.pseudonym) == (4, before.pseudonym[4])
    terms = {"cap": {"epsilon": 1.5}, "excluded": [1, 3], "renewal_days": 30}
    answers = exchange(
        collection,
        look(former[4]),
        redeem(invited.secret, own, **terms | {"cap": {"epsilon": 2.0}}),
        redeem(invited.secret, own, **terms | {"excluded": []}),
        look(former[4]),
        redeem(invited.secret, own, **terms),
        redeem(invited.secret, own, **terms),
        redeem(invited.secret, former[4], **terms),
        look(former[4]),
        look(own),
    )
    assert statuses(answers) == [200, 422, 422, 200, 201, 201, 409, 401, 200]
    assert "other terms" in answers[1].json()["detail"]
    assert answers[4].json()["pseudonym"] == before.pseudonym[4].hex() and answers[4].json()["user"] == 4
    after = collection.roster()
    for name in ("pseudonym", "excluded", "epsilon", "renewal", "since", "enrolled"):
        assert list(getattr(before, name)) == list(getattr(after, name)), name
    assert collection.round(1).answered == len(sent)


def test_somebody_who_was_invited_again_can_withdraw_with_the_new_credential(local):
    former, own = enrolled(local), new_credential()
    round = local.publish(PLAN, later())
    sent = put(local, round, 4, former)
    (invited,) = local.invite(["p4"])
    exchange(local, sent)
    forget = ("DELETE", "/v1/me", {"headers": bearer(own)})
    terms = {"cap": {"epsilon": 2.0}, "excluded": []}
    answers = exchange(
        local, redeem(invited.secret, own, **terms), put(local, round, 4, {4: own}), forget, look(own)
    )
    # The report from before is still there: another one in its place is refused.
    assert statuses(answers) == [201, 409, 204, 401]
    assert local.round(1).answered == 0 and local.roster().forgotten[4]
    assert local.invite(["p4"]) == []


def test_a_new_token_voids_the_one_before(local):
    first = local.invite()[4]
    (second,) = local.invite(["p4"])
    own = new_credential()
    assert statuses(exchange(local, redeem(first.secret, own), redeem(second.secret, own))) == [401, 201]


def test_tokens_and_credentials_are_stored_hashed(local):
    secret, own = local.invite()[0].secret, new_credential()
    (answer,) = exchange(local, redeem(secret, own))
    assert answer.status_code == 201
    stored = b"".join(file.read_bytes() for file in local.folder.iterdir())
    assert credential_hash(own) in stored
    for part in (secret, told_enrolment(secret)["json"]["token"].encode(), own.encode()):
        assert part not in stored


def test_the_roster_says_why_somebody_is_not_enrolled(local):
    first, second, *_ = local.invite()
    agreed, own = RosterAgreement(1.0), bytes(32)
    with local.database.writing() as connection:
        assert enrol(connection, first.secret, own, agreed) == Member(0, first.pseudonym)
        assert enrol(connection, first.secret, bytes([1] * 32), agreed) is Refused.USED
        assert enrol(connection, first.secret, own, RosterAgreement(0.5)) is Refused.TERMS
        assert enrol(connection, second.secret, own, agreed) is Refused.TAKEN
        assert enrol(connection, bytes(16), own, agreed) is Refused.USED


def test_a_refused_enrolment_says_where_it_is_wrong_and_never_what_was_sent(local):
    bodies = {
        '{"token": "sent", "credential_hash": "sent", "cap": {"epsilon": "sent"}}': "cap.epsilon",
        '{"token": "sent", "credential_hash": ["sent"], "cap": {"epsilon": 1, "sent": 1}}': "cap: Extra",
        '"sent"': "the body: ",
        '{"sent': "the body: JSON",
        "[" * 50_000: "the body: JSON",
        "1" * 5_000: "the body: JSON",
        "": "the body: ",
    }
    headers = {"Content-Type": "text/plain"}
    sent = [("POST", "/v1/enrolment", {"content": body, "headers": headers}) for body in bodies]
    answers = dict(zip(bodies, exchange(local, *sent), strict=True))

    def check(body):
        refused = answers[body]
        assert refused.status_code == 422 and bodies[body] in refused.json()["detail"]
        assert "sent" not in refused.text

    each(bodies, check)


def test_who_sends_is_looked_at_before_what_is_sent(local):
    (row,) = exchange(local, ("PUT", "/v1/row", {"content": "x" * 200_000}))
    (credential,) = exchange(local, ("PUT", "/v1/credential", {"content": "{"}))
    assert (row.status_code, credential.status_code) == (401, 401)
