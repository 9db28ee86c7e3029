"""graphveil answer: what is asked is shown first, in plain words, and nothing leaves without a yes."""

import importlib
import io
import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from graphveil import Plan
from graphveil.privacy import Invitation
from graphveil.privacy.envelope import MAX_SECONDS
from tests.client.support import (
    INVITATION,
    ROW,
    Server,
    digits_of_row,
    fast_folder,
    private_key,
    succession,
    values,
)
from tests.together import together

# The command has the name of its module and hides it.
COMMAND = importlib.import_module("graphveil.cli.answer")
URL = "http://localhost:8000"
NEW = Invitation(b"another sixteen.", INVITATION.key).token()


@pytest.fixture
def folder():
    with fast_folder() as name:
        yield Path(name)


@pytest.fixture
def server(monkeypatch, folder):
    server = Server(plans=[values()], expires=int(time.time()) + 1000)
    monkeypatch.setattr(COMMAND, "Http", lambda url: server)
    monkeypatch.setenv("GRAPHVEIL_STATE", str(folder / "state"))
    monkeypatch.setenv("GRAPHVEIL_WITNESS", str(folder / "witness"))
    (folder / "me.json").write_text(json.dumps(ROW))
    return server


@pytest.fixture
def answer(server, folder, call):
    """Calls the command for that server, with its token and with a yes unless these are left out."""

    def answer(*more, token=True, yes=True, ends=0):
        given = ["--token", INVITATION.token()] if token else []
        row = f"--row {folder / 'me.json'}"
        return call(f"answer --server {URL}", row, given, ["--yes"] if yes else [], *more, ends=ends)

    return answer


@pytest.fixture
def friends(server, folder):
    """The option with a file of friends of somebody who is asked for links too."""
    server.offer["private_links"] = True
    (folder / "friends.txt").write_text("p3\np11\n")
    return f"--links {folder / 'friends.txt'}"


def enrolments(server):
    return sum(path == "/v1/enrolment" for _, path, *_ in server.calls)


def test_what_is_asked_is_shown_answered_and_delivered(answer, server):
    shown = answer()
    assert "Its purpose, in its own words:\n  | to learn what people like\n" in shown.err
    assert "at most ε = 4 and δ = 0.0001 in it, for life" in shown.err
    assert "Round 1 asks for 1 of the 4 values of your row, randomized, by multibit" in shown.err
    assert "It costs ε = 1 (exact: 1)" in shown.err or "It costs ε = 1 (exact: 0.99" in shown.err
    assert "leaves 4 before, 3 after" in shown.err and "lies" not in shown.err
    assert "Round 1: answered, and kept by the collector." in shown.out
    assert "left of the cap: 3;" in shown.out
    assert digits_of_row(shown.out + shown.err) == []
    assert list(server.reports) == [1]


def test_the_second_time_needs_no_token_and_asks_what_is_new(answer, server):
    answer()
    server.plans.append(values(round=2))
    answer(token=False)
    assert "Nothing is asked of you now." in answer().out
    assert enrolments(server) == 1


def test_a_question_that_never_expires_is_shown_like_any(answer, server):
    server.expires = MAX_SECONDS
    assert "until 9999-12-31 23:59 UTC" in answer().err


def test_whoever_enrols_is_told_so_and_where_the_books_are(answer, server, folder):
    server.plans.clear()
    books = folder / "books" / "mine.sqlite"
    shown = answer(f"--device {books}")
    assert f"You take part now. Your books are in {books}" in shown.err and "You take part" not in shown.out
    assert "You take part" not in answer(f"--device {books}").err


@pytest.mark.parametrize(("said", "sent"), [("n\n", []), ("y\nn\n", []), ("y\ny\n", [1])])
def test_nothing_leaves_without_a_yes(answer, server, monkeypatch, said, sent):
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    shown = answer(yes=False, ends=2 if said == "n\n" else 0)
    assert list(server.reports) == sent
    assert ("Answer it? [y/N]" in shown.err) == said.startswith("y")


def test_where_nobody_is_there_nothing_is_sent(answer, server, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "give --yes" in answer(yes=False, ends=2).err
    assert all(method == "GET" for method, *_ in server.calls)


def test_a_refusal_is_shown_with_its_reason_and_a_false_claim_ends_with_1(answer, server):
    server.plans[:] = [values(range=(0, 0.5))]
    assert "Refused (range): it counts on the range 0..0.5, agreed was 0..1" in answer(ends=2).out
    server.plans[:] = [values(mechanism="ppm-printed", options={"budgets": [1.0, 2.0]})]
    assert "Refused (claim)" in answer(ends=1).out


def test_json_is_one_object(answer):
    told = answer("--json --cap 2 --exclude 3", ends=2).json
    # Attribute 3 can be drawn, so it is refused.
    assert told["questions"] == [
        {"round": None, "epsilon": None, "delivered": False, "status": None, "refused": "excluded"}
    ]
    assert told["left"] == {"epsilon": 2.0, "delta": 0.0} and told["lifetime"]["epsilon"] == 0


def test_terms_hold_for_good_with_a_new_token_too(answer, server):
    answer()
    assert "its terms hold for good" in answer("--cap 9", ends=2).err
    assert "you did not volunteer" in answer("--volunteer", ends=2).err and server.rows == []
    assert "terms hold for good" in answer(f"--cap 1 --token {NEW}", token=False, ends=2).err
    assert enrolments(server) == 1
    server.tokens["YW5vdGhlciBzaXh0ZWVuLg"] = {}
    assert "this token was used" in answer(f"--token {NEW}", token=False, ends=2).err


def test_a_renewal_is_shown_as_what_it_is(answer):
    shown = answer("--cap 2 --renew-days 30").err
    assert "anew every 30 days: budgets add up, a year may cost up to ε = 26." in shown


@pytest.mark.parametrize(("more", "level"), [("", None), ("--level 2", 2)])
def test_a_level_is_held_by_the_device_and_said_to_nobody(answer, server, monkeypatch, more, level):
    held = []
    monkeypatch.setattr(COMMAND, "visit", lambda books, calls, collection, own, agree: held.append(own) or [])
    answer(more)
    assert [each.level for each in held] == [level]
    assert not any(b"level" in (body or b"") for _, _, body, _ in server.calls)


def test_a_volunteer_gives_the_row_after_being_told(answer, server):
    shown = answer("--volunteer")
    assert "You give your row AS IT IS" in shown.err and "Your row was given." in shown.out
    assert server.rows == [{"values": ROW}]


def test_after_a_backup_the_owner_says_what_was_spent(answer, server, folder):
    books = folder / "state" / "device.sqlite"
    answer()
    shutil.copy(books, folder / "backup")
    server.plans.append(values(round=2))
    assert "leave out --spent" in answer("--spent 2", ends=2).err
    answer()
    shutil.copy(folder / "backup", books)
    server.plans.append(values(round=3))
    assert "Refused (memory)" in answer(ends=2).out
    assert "left of the cap: 1;" in answer("--spent 2").out


def test_after_a_disk_was_restored_the_owner_says_what_was_spent_once(answer, server, folder):
    answer()
    image = folder.with_name(f"{folder.name}-image")
    shutil.copytree(folder, image)
    server.plans.append(values(round=2))
    answer()
    for name in ("state", "witness"):
        shutil.rmtree(folder / name)
        shutil.copytree(image / name, folder / name)
    shutil.rmtree(image)
    # It is said whether or not anything is asked.
    for questions in (0, 1):
        server.plans += [values(round=3)] * questions
        shown = answer(ends=2).out
        assert shown.count("the collector has more answers of this device than its books know") == 1
        assert "--spent" in shown and "left of the cap" not in shown
        told = answer("--json", ends=2).json
        assert (told["refused"], told["left"]["epsilon"]) == ("memory", 0.0)
        assert [each["refused"] for each in told["questions"]] == ["memory"] * questions
    assert "left of the cap: 1;" in answer("--spent 2").out
    assert "leave out --spent" in answer("--spent 2", ends=2).err


MISTAKES = [
    ("--cap -1", "the cap must be"),
    ("--renew-days 3", "give --cap too"),
    ("--exclude 1.5", "numbers of attributes"),
    ("--exclude nan", "numbers of attributes"),
    ("--exclude 1,inf", "numbers of attributes"),
    ("--exclude x", "--exclude takes numbers"),
    ("--exclude 4", "an excluded attribute must be an integer from 0 to 3"),
    ("--level 0", "level"),
]


@together(("more", "said"), MISTAKES)
def test_mistakes_are_said_in_one_line_before_anything_is_sent(answer, server, more, said):
    before = len(server.calls)
    error = answer(more, ends=2).err
    assert said in error and error.count("\n") == 1
    assert all(method == "GET" for method, *_ in server.calls[before:])
    assert said != "level" or len(server.calls) == before


def test_without_an_invitation_it_says_what_is_missing(answer):
    assert "give the --token of your invitation" in answer(token=False, ends=2).err


def test_words_of_a_server_give_no_orders_to_a_terminal(answer, server):
    server.offer = {"purpose": "good\x1b[2J\u202e\nYour cap is 0"}
    assert "own words:\n  | good\\u001b[2J\\u202e Your cap is 0\n" in answer(ends=2).err


def test_plain_http_to_another_machine_is_refused(folder, refuses, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_STATE", str(folder / "state"))
    monkeypatch.setenv("GRAPHVEIL_WITNESS", str(folder / "witness"))
    (folder / "me.json").write_text("[1]")
    refuses([(f"answer --server http://collect.example.org --row {folder / 'me.json'}", "use https")])


def test_links_come_from_a_file_and_stay_a_term_of_the_enrolment(answer, server, friends):
    server.plans[:] = [Plan(mechanism="link-rr", epsilon=2.0, dims=40, users=(17,))]
    shown = answer(friends)
    assert "whom of its people you are linked to, too" in shown.err
    assert "whom you are linked to, among 40 users, each link randomized, by link-rr" in shown.err
    assert "if it lies about them, both do, and the link costs what both of you spend on it" in shown.err
    assert "a link costs at most ε = 4 where the other end is asked the same." in shown.err
    assert "p11" not in shown.err + shown.out and list(server.reports) == [1]
    assert "give --links, an empty file" in answer(token=False, ends=2).err


def test_where_both_ends_are_meant_to_answer_a_lie_about_numbers_costs_nothing_more(answer, server, friends):
    both = {"mechanism": "blink", "epsilon": 2.0, "dims": 40, "users": (17,), "options": {"ends": "both"}}
    server.plans[:] = [Plan(**both)]
    assert "where the other end is asked the same" not in answer(friends).err
    assert list(server.reports) == [1]


def test_links_that_were_left_out_at_enrolment_are_left_out_for_good(answer, friends):
    answer()
    assert "you enrolled without a list of links" in answer(friends, token=False, ends=2).err


def test_a_new_key_is_followed_and_a_server_that_was_set_back_is_refused(answer, server):
    answer()
    server.plans.append(values(round=2))
    server.private, server.successions = private_key(1), [succession(1)]
    # The token from before the change names the same collection.
    answer()
    assert list(server.reports) == [1, 2]
    assert enrolments(server) == 1
    server.plans.append(values(round=3))
    server.private, server.successions = private_key(0), []
    said = "the server shows 0 changes of the key, and this device has followed 1"
    assert said in answer(token=False, ends=2).err
    assert list(server.reports) == [1, 2]


def test_a_new_token_is_used_once_and_keeps_the_terms(answer, server):
    shown = [answer("--cap 2 --exclude 3", ends=2)]
    server.private, server.successions = private_key(1), [succession(1)]
    token = Invitation(b"another sixteen.", succession(1).statement.after).token()
    before = server.known
    for _ in range(2):
        shown.append(answer(f"--token {token}", token=False, ends=2))
    assert enrolments(server) == 2 and server.known != before
    said = server.tokens["YW5vdGhlciBzaXh0ZWVuLg"]
    assert (said["cap"], said["excluded"]) == ({"epsilon": 2.0, "delta": 0.0}, [3])
    assert all("Refused (excluded)" in each.out for each in shown)
    assert sum(each.err.count("You take part now") for each in shown) == 1


def test_books_of_an_earlier_version_go_on_with_the_token_they_were_made_with(answer, server, folder):
    answer()
    (books,) = folder.glob("**/device.sqlite")
    with sqlite3.connect(books) as opened:
        opened.execute("UPDATE credentials SET former = current, current = NULL, token = NULL")
        (server.former,) = opened.execute("SELECT former FROM credentials").fetchone()
    opened.close()
    server.plans.append(values(round=2))
    for _ in range(2):
        answer()
    assert enrolments(server) == 2 and sorted(server.reports) == [1, 2]
