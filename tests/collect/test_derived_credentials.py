"""Credentials that collectors derived from their key: they register one secret until the key is rotated, and do nothing else."""

import base64
import hmac
from functools import partial

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from graphveil.collect import keys
from graphveil.collect.roster import derived_holder
from graphveil.collect.schema import ROSTER
from graphveil.privacy.credential import credential_hash, new_credential
from tests.collect.small import PLAN, address, bearer, enrolled, envelope, later
from tests.collect.test_service import exchange, statuses, told_enrolment


def forged(key_file, node, pseudonym):
    """What collectors of earlier versions gave to the device of a node, made from a copy of their key."""
    private = load_pem_private_key(key_file, password=None).private_bytes_raw()
    secret = HKDF(hashes.SHA256(), 32, salt=None, info=b"graphveil-credential-1").derive(private)
    whose = node.to_bytes(4, "big") + pseudonym
    return base64.urlsafe_b64encode(whose + hmac.digest(secret, whose, "sha256")).rstrip(b"=").decode("ascii")


def of_an_earlier_version(collection):
    """Enrol everybody as earlier collectors did, with credentials that follow from the key; these by node."""
    enrolled(collection, volunteer=True)
    key, roster, made_by_key = (collection.folder / "key").read_bytes(), collection.roster(), {}
    with collection.database.writing() as connection:
        for node, pseudonym in zip(roster.node.tolist(), roster.pseudonym, strict=True):
            made_by_key[node] = forged(key, node, pseudonym)
            told = {"credential": keys.hashed(made_by_key[node].encode()), "derived": True}
            connection.execute(ROSTER.update().where(ROSTER.c.node == node).values(**told))
    return made_by_key


def register(former, own):
    return (
        "PUT",
        "/v1/credential",
        {"json": {"credential_hash": credential_hash(own).hex()}, "headers": bearer(former)},
    )


def look(credential):
    return "GET", "/v1/questions", {"headers": bearer(credential)}


@pytest.mark.parametrize("before", [partial(enrolled, volunteer=True), of_an_earlier_version])
def test_a_key_that_was_rotated_away_speaks_for_nobody(collection, before):
    before(collection)
    round = collection.publish(PLAN, later())
    key, roster = (collection.folder / "key").read_bytes(), collection.roster()
    collection.rotate()
    headers = bearer(forged(key, 3, roster.pseudonym[3]))
    answers = exchange(
        collection,
        ("PUT", address(round, 3), {"content": envelope(collection, round, 3), "headers": headers}),
        ("PUT", "/v1/row", {"json": {"values": [0.5] * 8}, "headers": headers}),
        ("GET", "/v1/questions", {"headers": headers}),
        ("DELETE", "/v1/me", {"headers": headers}),
        register(headers["Authorization"].removeprefix("Bearer "), new_credential()),
    )
    assert statuses(answers) == [401] * 5
    assert not collection.roster().forgotten.any() and collection.round(1).answered == 0


def test_a_derived_credential_registers_one_of_the_devices_own_once(collection):
    former, own = of_an_earlier_version(collection), new_credential()
    assert collection.roster().derived.all() and collection.counts()["unregistered"] == 12
    answers = exchange(
        collection,
        look(former[3]),
        register(former[3], own),
        register(former[3], own),
        register(former[3], new_credential()),
        look(own),
        look(former[3]),
    )
    assert statuses(answers) == [401, 204, 204, 401, 200, 401]
    assert "update graphveil" in answers[0].json()["detail"]
    assert collection.roster().derived.tolist() == [node != 3 for node in range(12)]
    assert collection.roster().enrolled.all()


def test_after_a_rotation_a_derived_credential_registers_nothing_and_what_it_registered_stays(local):
    former, own = of_an_earlier_version(local), new_credential()
    exchange(local, register(former[3], own))
    local.rotate()
    answers = exchange(
        local,
        look(own),
        register(former[3], own),
        register(former[4], new_credential()),
        look(former[4]),
    )
    assert statuses(answers) == [200, 401, 401, 401]


def test_after_a_rotation_a_new_token_brings_somebody_back(local):
    former, own = of_an_earlier_version(local), new_credential()
    local.rotate()
    (invited,) = local.invite(["p4"])
    told = told_enrolment(invited.secret, own, cap={"epsilon": 2.0}, excluded=[], volunteer=True)
    answers = exchange(local, ("POST", "/v1/enrolment", told), look(own), look(former[4]))
    assert statuses(answers) == [201, 200, 401]
    assert answers[0].json()["pseudonym"] == invited.pseudonym.hex()
    assert not local.roster().derived[4]


def test_the_key_of_today_speaks_for_nobody_whose_device_has_its_own_credential(local):
    own = enrolled(local)
    key, roster = (local.folder / "key").read_bytes(), local.roster()
    forgery = forged(key, 3, roster.pseudonym[3])
    answers = exchange(local, look(forgery), register(forgery, new_credential()), look(own[3]))
    assert statuses(answers) == [401, 401, 200]


def test_a_key_makes_no_credential_for_somebody_whom_an_earlier_key_enrolled(local):
    of_an_earlier_version(local)
    local.rotate()
    key, roster = (local.folder / "key-1").read_bytes(), local.roster()
    answers = exchange(local, register(forged(key, 3, roster.pseudonym[3]), new_credential()))
    assert statuses(answers) == [401]


def test_a_derived_credential_takes_nobody_elses_place(local):
    former, own = of_an_earlier_version(local), new_credential()
    answers = exchange(local, register(former[3], own), register(former[4], own), look(own))
    assert statuses(answers) == [204, 401, 200]
    assert local.roster().derived[4]


def test_somebody_who_was_forgotten_registers_nothing(local):
    former = of_an_earlier_version(local)
    local.forget(3)
    assert statuses(exchange(local, register(former[3], new_credential()))) == [401]
    assert not local.roster().derived[3]


def test_a_changed_credential_is_nobodys(tmp_path):
    key = keys.SigningKey.generate()
    key.write(tmp_path / "key")
    made_by_key = forged((tmp_path / "key").read_bytes(), 70_000, bytes(16))
    assert derived_holder(key, made_by_key) == 70_000
    for place in (0, 30, 60):
        letter = "B" if made_by_key[place] == "A" else "A"
        assert derived_holder(key, made_by_key[:place] + letter + made_by_key[place + 1 :]) is None
    assert derived_holder(keys.SigningKey.generate(), made_by_key) is None
    for wrong in ("", "x", made_by_key[:-1], made_by_key + "A", "\xe9" * 70):
        assert derived_holder(key, wrong) is None
