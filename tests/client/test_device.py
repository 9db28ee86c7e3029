"""Charge and answer are one; the same plan has the same bytes; books from a backup answer nothing."""

import shutil
import sqlite3
import stat
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest

import graphveil.client.device as device_module
from graphveil import Claim, InputError, Plan, PrivacyError
from graphveil.client import Cap, Device, Held
from graphveil.errors import RefusalError, StoreError
from graphveil.privacy import Envelope
from tests.client.support import (
    AGREEMENT,
    COLLECTION,
    HELD,
    NOW,
    OFFER,
    PSEUDONYM,
    PUBLIC,
    ROW,
    USER,
    asked,
    credentials_of,
    device_in,
    digits_of_row,
    drawn_credential,
    message_of,
    new_device,
    private_key,
    public_key,
    refusal,
    succession,
    values,
)

# Many values, so that two draws are never equal: 2^-64 at best.
WIDE = replace(AGREEMENT, offer=replace(OFFER, dims=64))
WIDE_HELD = Held(row=np.linspace(0, 1, 64))


def wide(**fields):
    return values(mechanism="onebit", dims=64, **fields)


def costs(device):
    return [line.costs for line in device.spendings()[0].lines]


def test_an_answer_is_in_its_envelope(folder):
    sealed = device_in(folder).answer(COLLECTION, asked(values(), round=3), HELD)
    envelope = Envelope.from_bytes(sealed.envelope)
    assert (sealed.round, sealed.report, envelope.pseudonym) == (3, envelope.report, PSEUDONYM)
    reports = message_of(sealed, values())
    assert reports.users == 1 and reports.dims is not None


def test_two_collections_get_answers_and_ids_of_their_own(folder):
    other = replace(WIDE, offer=replace(WIDE.offer, collection="c1" * 16), pseudonym="0e" * 16)
    device = device_in(folder, WIDE)
    device.agree(other)
    one = device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    two = device.answer("c1" * 16, asked(wide(), collection="c1" * 16), WIDE_HELD)
    first, second = (Envelope.from_bytes(sealed.envelope) for sealed in (one, two))
    assert first.digest == second.digest
    assert first.report != second.report and first.message != second.message
    assert [spending.lifetime.epsilon for spending in device.spendings()] == [1.0, 1.0]


def test_the_same_plan_has_the_same_bytes_for_any_row_in_any_round_and_costs_once(folder):
    device = device_in(folder, WIDE)
    first = device.answer(COLLECTION, asked(wide(), round=1), WIDE_HELD)
    again = Device(device.path, witnesses=folder / "witnesses", clock=lambda: NOW)
    assert again.answer(COLLECTION, asked(wide()), WIDE_HELD) == first
    assert device.answer(COLLECTION, asked(wide()), Held(row=np.zeros(64))) == first
    assert device.answer(COLLECTION, asked(wide(), round=2), WIDE_HELD) == replace(first, round=2)
    assert costs(device) == [(1.0,)]


def test_a_changed_plan_has_noise_of_its_own_and_is_charged_until_the_cap_is_reached(folder):
    device = device_in(folder, WIDE)
    told = [device.answer(COLLECTION, asked(wide(round=n)), WIDE_HELD).envelope[-70:] for n in range(1, 5)]
    assert len(set(told)) == 4 and costs(device) == [(1.0,)] * 4
    assert refusal(device.answer, COLLECTION, asked(wide(round=5)), WIDE_HELD) == "cap"
    # What was paid for is there all the same.
    device.answer(COLLECTION, asked(wide(round=2)), WIDE_HELD)


def test_a_look_costs_nothing_and_says_what_is_left(folder):
    device = device_in(folder)
    plan = values(epsilon=1.5)
    inquiry = device.look(COLLECTION, asked(plan))
    assert (inquiry.claim, inquiry.left, inquiry.kept) == (Claim(1.5), Claim(4.0, 1e-4), False)
    assert 1.49 < inquiry.exact.epsilon <= 1.5
    device.answer(COLLECTION, asked(plan), HELD)
    after = device.look(COLLECTION, asked(plan))
    assert inquiry.link_at_most is None and after.kept and after.left.epsilon == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("mechanism", "options", "most"),
    [("link-rr", {}, Claim(3.0)), ("dprr", {}, Claim(3.0)), ("blink", {"ends": "both"}, None)],
)
def test_a_look_at_a_question_about_links_says_what_one_costs_if_both_ends_answer(
    folder, mechanism, options, most
):
    device = device_in(folder, replace(AGREEMENT, subjects=("features", "links")))
    plan = Plan(mechanism=mechanism, epsilon=1.5, dims=40, users=(17,), options=options)
    inquiry = device.look(COLLECTION, asked(plan))
    # What is charged is what this end sends, and that is no more than the claim.
    assert (inquiry.claim, inquiry.link_at_most) == (Claim(1.5), most)


def test_levels_are_decided_by_books_of_all_levels_or_by_the_largest(folder):
    """With two levels, a plan that costs the second one too much is refused by users of the first as well."""
    cap = Cap(0.0, by_level=(1.0, 2.0))
    options = {"budgets": [1.0, 2.0]}
    plan = values(mechanism="ppm", epsilon=1.0, options=options)
    more = values(mechanism="ppm", epsilon=0.5, round=2, options={"budgets": [0.5, 2.0]})
    for level in (1, 2):
        device = device_in(folder, replace(AGREEMENT, cap=cap), name=f"{level}.sqlite")
        held = Held(row=ROW, level=level)
        message_of(device.answer(COLLECTION, asked(plan), held), plan).check()
        (line,) = device.spendings()[0].lines
        assert (line.costs, line.spent) == ((1.0, 2.0), float(level))
        assert refusal(device.answer, COLLECTION, asked(more), held) == "cap"
    device = device_in(folder)
    plan = values(mechanism="ppm", epsilon=1.0, options={"budgets": [1.0, 3.0]})
    device.answer(COLLECTION, asked(plan), Held(row=ROW, level=1))
    (line,) = device.spendings()[0].lines
    assert (line.costs, line.spent) == ((3.0,), 1.0)


def test_links_are_answered_by_the_owner_of_the_device(folder):
    device = device_in(folder, replace(AGREEMENT, subjects=("links",)))
    plan = Plan(mechanism="link-rr", epsilon=4.0, dims=40, users=(USER,))
    reports = message_of(device.answer(COLLECTION, asked(plan), Held(neighbours=[1, 3, 39])), plan)
    # Of two users the one with the larger number answers.
    assert reports.codes.size == 0 or int(reports.codes.max()) < USER


def test_the_file_is_the_owners_alone_and_holds_no_value_of_the_row(folder):
    device = device_in(folder)
    device.answer(COLLECTION, asked(values()), HELD)
    assert stat.S_IMODE(device.path.stat().st_mode) == 0o600
    stored = device.path.read_bytes()
    for value in ROW:
        assert np.float64(value).tobytes() not in stored and np.float32(value).tobytes() not in stored
        assert str(value).encode() not in stored


def test_nothing_is_there_to_be_sent_where_the_charge_cannot_be_kept(folder, monkeypatch):
    device = device_in(folder)

    def full(self, lines):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(device_module.Books, "charge", full)
    with pytest.raises(StoreError, match="nothing was answered"):
        device.answer(COLLECTION, asked(values()), HELD)
    assert device.spendings()[0].lines == ()


def test_a_row_of_another_length_is_refused_before_anything_is_charged(folder):
    device = device_in(folder)
    with pytest.raises(InputError, match="the row has 3 values, this collection takes rows of 4"):
        device.answer(COLLECTION, asked(values()), Held(row=ROW[:3]))
    assert device.spendings()[0].lines == ()


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1e300, None, "a word", 1 << 80, True])
def test_whatever_a_value_is_it_is_answered(odd, folder):
    device = device_in(folder)
    for plan in (values(), values(mechanism="laplace")):
        message_of(device.answer(COLLECTION, asked(plan), Held(row=[odd, *ROW[1:]])), plan).check()


def test_a_collection_in_which_a_device_is_not_enrolled_is_said(folder):
    device = device_in(folder)
    for call in (
        lambda: device.answer("c1" * 16, asked(values()), HELD),
        lambda: device.recover({"c1" * 16: Claim(1.0)}),
    ):
        with pytest.raises(InputError, match="not enrolled"):
            call()


def test_terms_hold_for_good(folder):
    device = device_in(folder)
    device.agree(replace(AGREEMENT, enrolled=NOW))
    with pytest.raises(InputError, match="terms hold for good"):
        device.agree(replace(AGREEMENT, cap=Cap(9.0)))
    assert device.agreements() == (AGREEMENT,)


def test_a_file_of_something_else_is_refused(folder, tmp_path):
    witnesses = tmp_path
    (folder / "text").write_text("some notes of mine, which are no database at all" * 20)
    with pytest.raises(StoreError, match="cannot be read"):
        Device(folder / "text", witnesses=witnesses)
    with sqlite3.connect(folder / "other") as other:
        other.execute("CREATE TABLE mine (a)")
    other.close()
    with pytest.raises(StoreError, match="no device's file"):
        Device(folder / "other", witnesses=witnesses)


def test_a_device_does_not_show_what_it_holds(folder):
    device = device_in(folder)
    credential = drawn_credential(device)
    device.agree(AGREEMENT)
    held = credentials_of(device)
    shown = repr(HELD) + repr(device) + repr(AGREEMENT) + repr(held)
    assert held.current == credential
    assert digits_of_row(shown) == [] and credential not in shown


def test_a_cap_is_for_life(folder):
    device_in(folder).answer(COLLECTION, asked(values(epsilon=4.0)), HELD)
    later = device_in(folder, now=NOW + 10_000 * 86_400)
    question = asked(values(round=2), expires=NOW + 20_000 * 86_400)
    assert refusal(later.answer, COLLECTION, question, HELD) == "cap"


def test_a_cap_that_is_renewed_adds_up_and_the_books_show_it(folder):
    monthly = replace(AGREEMENT, cap=Cap(4.0, renewal_days=30))
    device_in(folder, monthly).answer(COLLECTION, asked(values(epsilon=4.0)), HELD)
    late = {"expires": NOW + 100 * 86_400}
    early = device_in(folder, monthly, now=NOW + 29 * 86_400)
    assert refusal(early.answer, COLLECTION, asked(values(round=2), **late), HELD) == "cap"
    later = device_in(folder, monthly, now=NOW + 31 * 86_400)
    later.answer(COLLECTION, asked(values(round=2, epsilon=3.0), **late), HELD)
    (spending,) = later.spendings()
    assert (spending.period, spending.left.epsilon) == (1, pytest.approx(1.0))
    assert spending.lifetime.epsilon == 7.0


def test_a_clock_that_is_set_back_gives_nothing_back(folder):
    monthly = replace(AGREEMENT, cap=Cap(4.0, renewal_days=30))
    late = {"expires": NOW + 100 * 86_400}
    later = device_in(folder, monthly, now=NOW + 31 * 86_400)
    later.answer(COLLECTION, asked(values(epsilon=4.0), **late), HELD)
    back = device_in(folder, monthly, now=NOW)
    assert refusal(back.answer, COLLECTION, asked(values(round=2), **late), HELD) == "cap"


def test_books_from_an_old_backup_answer_nothing(folder):
    device = device_in(folder, WIDE)
    device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    shutil.copy(device.path, folder / "backup")
    device.answer(COLLECTION, asked(wide(round=2)), WIDE_HELD)
    shutil.copy(folder / "backup", device.path)
    assert refusal(device.answer, COLLECTION, asked(wide(round=2)), WIDE_HELD) == "memory"
    assert device.doubt(COLLECTION) is not None
    # Not even what was paid for: another device may have spent the rest.
    assert refusal(device.look, COLLECTION, asked(wide())) == "memory"


def test_a_backup_that_misses_nothing_goes_on(folder):
    device = device_in(folder, WIDE)
    first = device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    kept = device.path.read_bytes()
    device.path.unlink()
    device.path.write_bytes(kept)
    assert device.answer(COLLECTION, asked(wide()), WIDE_HELD) == first


def test_a_copy_on_another_machine_answers_nothing(folder):
    device = device_in(folder, WIDE)
    elsewhere = Device(device.path, witnesses=folder / "elsewhere", clock=lambda: NOW)
    assert refusal(elsewhere.answer, COLLECTION, asked(wide()), WIDE_HELD) == "memory"


def copied(folder):
    device = device_in(folder, WIDE)
    shutil.copy(device.path, device.path.with_name("copy.sqlite"))
    return device, device_in(folder, WIDE, name="copy.sqlite")


def test_two_copies_on_one_machine_do_not_spend_twice(folder):
    device, copy = copied(folder)
    device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    assert refusal(copy.answer, COLLECTION, asked(wide(round=2)), WIDE_HELD) == "memory"


class Stopped(BaseException):
    pass


def stop_between_charge_and_witness(device):
    def stop(*_):
        raise Stopped

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(device_module.Witness, "see", stop)
        # The first sight is before the charge, so the stop has to be at the second.
        patched.setattr(device_module, "check_memory", lambda *_: None)
        device.answer(COLLECTION, asked(wide()), WIDE_HELD)


def test_a_stop_between_charge_and_witness_is_no_loss_of_memory(folder):
    device = device_in(folder, WIDE)
    stop_between_charge_and_witness(device)
    (line,) = device.spendings()[0].lines
    sealed = device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    assert sealed.report == line.report and costs(device) == [(1.0,)]


def test_two_copies_that_stopped_at_the_same_count_are_told_apart(folder):
    device, copy = copied(folder)
    stop_between_charge_and_witness(copy)
    device.answer(COLLECTION, asked(wide()), WIDE_HELD)
    assert refusal(copy.answer, COLLECTION, asked(wide()), WIDE_HELD) == "memory"


def restored(folder, epsilon=2.5):
    """A device whose books were set back to before it has answered; the lost ones stand beside the backup."""
    device = device_in(folder, WIDE)
    shutil.copy(device.path, folder / "backup")
    device.answer(COLLECTION, asked(wide(epsilon=epsilon)), WIDE_HELD)
    shutil.copy(device.path, folder / "lost")
    shutil.copy(folder / "backup", device.path)
    return device


def test_the_owner_says_what_was_spent_and_the_device_goes_on_with_the_rest(folder):
    device = restored(folder)
    device.recover({COLLECTION: Claim(2.5)})
    assert device.spendings()[0].left.epsilon == pytest.approx(1.5)
    device.answer(COLLECTION, asked(wide(round=2, epsilon=1.5)), WIDE_HELD)
    assert refusal(device.answer, COLLECTION, asked(wide(round=3, epsilon=0.1)), WIDE_HELD) == "cap"


def test_an_owner_who_does_not_know_has_spent_everything(folder):
    device = restored(folder)
    device.recover()
    assert refusal(device.answer, COLLECTION, asked(wide(round=2, epsilon=0.1)), WIDE_HELD) == "cap"
    assert device.spendings()[0].lifetime == Claim(4.0, 1e-4)


def test_what_the_books_know_is_never_taken_back(folder):
    device = device_in(folder, WIDE)
    device.answer(COLLECTION, asked(wide(epsilon=2.0)), WIDE_HELD)
    device.recover({COLLECTION: Claim(0.5)})
    assert device.spendings()[0].lifetime.epsilon == 2.0


def test_after_a_recovery_the_lost_books_are_the_old_ones(folder):
    device = restored(folder, epsilon=1.0)
    device.recover({COLLECTION: Claim(1.0)})
    shutil.copy(folder / "lost", device.path)
    assert refusal(device.answer, COLLECTION, asked(wide(round=2)), WIDE_HELD) == "memory"


def test_a_row_is_given_by_consent_alone_and_put_down_first(folder):
    with pytest.raises(PrivacyError, match="did not agree at enrolment to give the raw row"):
        device_in(folder).give_row(COLLECTION, HELD)
    volunteer = device_in(folder, replace(AGREEMENT, volunteer=True), name="volunteer.sqlite")
    assert volunteer.spendings()[0].row_given is None
    assert volunteer.give_row(COLLECTION, HELD) == ROW
    assert volunteer.spendings()[0].row_given == NOW
    # A value that is missing is given as the middle.
    row = [float("nan"), float("inf"), -float("inf"), 7.0]
    assert volunteer.give_row(COLLECTION, Held(row=row)) == [0.5, 1.0, 0.0, 7.0]


def test_threads_with_one_file_draw_one_answer(folder):
    device_in(folder, WIDE)
    told = []

    def run():
        told.append(new_device(folder).answer(COLLECTION, asked(wide()), WIDE_HELD))

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 8 and len({sealed.envelope for sealed in told}) == 1
    assert costs(device_in(folder, WIDE)) == [(1.0,)]


def restored_before_it_was_enrolled(folder, *questions):
    """A device whose books were set back to the day before it enrolled and answered these, and whose owner says nothing of it."""
    device = new_device(folder)
    old = device.path.read_bytes()
    device.agree(AGREEMENT)
    for signed in questions:
        device.answer(COLLECTION, signed, HELD)
    device.path.write_bytes(old)
    restored = new_device(folder)
    restored.recover()
    restored.agree(AGREEMENT)
    return restored


def test_a_collection_that_restored_books_do_not_know_has_its_cap_spent(folder):
    device = restored_before_it_was_enrolled(folder, asked(values()))
    assert refusal(device.answer, COLLECTION, asked(values(round=2)), HELD) == "cap"
    assert device.spendings()[0].lifetime.epsilon == 4.0


def test_a_collection_that_was_never_answered_is_enrolled_in_anew(folder):
    device = restored_before_it_was_enrolled(folder)
    assert device.answer(COLLECTION, asked(values()), HELD).round == 1


def test_a_new_key_is_followed_and_the_old_one_believed_no_more(folder):
    device = device_in(folder)
    by_old = asked(values())
    assert device.answer(COLLECTION, by_old, HELD)
    assert device.follow(COLLECTION, [succession(1)]) == 1
    assert device.keys(COLLECTION) == (PUBLIC, public_key(private_key(1)))
    for question in (by_old, asked(values(round=2))):
        for ask in (device.look, lambda *told: device.answer(*told, HELD)):
            assert refusal(ask, COLLECTION, question) == "signature"
    assert device.answer(COLLECTION, asked(values(round=2), private_key(1)), HELD)
    assert device_in(folder).keys(COLLECTION)[-1] == public_key(private_key(1))


def test_a_new_key_renews_no_budget_and_redraws_no_answer(folder):
    device = device_in(folder)
    sealed = [device.answer(COLLECTION, asked(values(round=n)), HELD) for n in (1, 2, 3)]
    before = device.spendings()[0]
    device.follow(COLLECTION, [succession(1), succession(2)])
    after = device.spendings()[0]
    assert (after.left, after.lifetime, after.lines) == (before.left, before.lifetime, before.lines)
    again = [device.answer(COLLECTION, asked(values(round=n), private_key(2)), HELD) for n in (1, 2, 3)]
    assert again == sealed and device.spendings()[0].lifetime.epsilon == 3.0
    assert device.answer(COLLECTION, asked(values(round=4), private_key(2)), HELD)
    assert refusal(device.answer, COLLECTION, asked(values(round=5), private_key(2)), HELD) == "cap"


@pytest.mark.parametrize("served", [[], [succession(1, new=bytes([9]) * 32)], [succession(1), succession(3)]])
def test_a_device_that_cannot_follow_stays_where_it_is(folder, served):
    device = device_in(folder)
    device.follow(COLLECTION, [succession(1)])
    assert refusal(device.follow, COLLECTION, served) == "key"
    assert device.keys(COLLECTION) == (PUBLIC, public_key(private_key(1)))


def test_restored_books_do_not_believe_the_key_that_went(folder):
    device = device_in(folder)
    backup = device.path.read_bytes()
    device.follow(COLLECTION, [succession(1)])
    device.path.write_bytes(backup)
    device = device_in(folder)
    assert device.keys(COLLECTION) == (PUBLIC,)
    # Nothing was spent since, so nothing but the key is missing.
    assert refusal(device.look, COLLECTION, asked(values())) == "key"
    for served in ([], [succession(1, new=bytes([9]) * 32)]):
        with pytest.raises(RefusalError, match="that this device has followed before"):
            device.follow(COLLECTION, served)
    assert device.follow(COLLECTION, [succession(1)]) == 1
    assert device.answer(COLLECTION, asked(values(), private_key(1)), HELD)
