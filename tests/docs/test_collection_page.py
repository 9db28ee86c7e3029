"""The commands of docs/collection.md work one after the other, as they are written."""

import csv
import json
import re
import runpy
import shlex
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphveil.cli import status
from graphveil.collect.app import create_app
from graphveil.collect.metrics import Metrics
from graphveil.collect.storage import open_collection
from tests.client.support import fast_folder
from tests.fixtures import serving

PAGE = (Path(__file__).parents[2] / "docs" / "collection.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if not line.startswith("graphveil collect serve")
]
(PEOPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(ANSWER,) = [line for line in COMMANDS if line.startswith("graphveil answer")]
LEARN = "graphveil collect learn survey togl --epsilon 2 --set epochs=20"
# Whoever does not enrol is not asked; a few are enough to see that everything works.
TAKE_PART = {f"p{number}" for number in range(8, 18)}


def run(command):
    return status(shlex.split(command)[1:])


@contextmanager
def collecting(folder):
    """What `serve` does, in a thread, at a port of its own."""
    collection = open_collection(folder)
    with serving(create_app(collection)) as address:
        yield address.rpartition(":")[2]
    collection.database.close()


@contextmanager
def with_people():
    """A folder that one is in, with the files that the page's program writes, and witnesses of its own."""
    with fast_folder() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.chdir(folder)
        patch.setenv("GRAPHVEIL_WITNESS", str(folder / "witness"))
        (folder / "people.py").write_text(PEOPLE)
        runpy.run_path("people.py")
        yield folder


def everybody_visits(port):
    with open("tokens.csv", newline="") as file:
        people = list(csv.DictReader(file))
    for person in people:
        if person["id"] not in TAKE_PART:
            continue
        words = ANSWER.replace("8765", port).replace("ID", person["id"]).replace("TOKEN", person["token"])
        assert run(words) == 0


@pytest.fixture(scope="module")
def walked():
    """The statuses of all commands, and the folder in which they were run."""
    statuses = []
    with with_people() as folder:
        made, rest = COMMANDS[:2], COMMANDS[2:]
        statuses += [(command, run(command)) for command in made]
        with collecting("survey") as port:
            for command in rest:
                if command == ANSWER or " close " in command:
                    everybody_visits(port)
                if command != ANSWER:
                    statuses.append((command, run(command)))
        yield statuses, folder


@pytest.fixture(scope="module")
def circle():
    """The folder of the page's collection whose links are private, after all who take part have answered about theirs."""
    section = PAGE.split("### Private links")[1].split("###")[0]
    init, answer, learn = re.findall(r"^    (graphveil .*)$", section, re.MULTILINE)
    with with_people() as folder:
        labels = dict(csv.reader((folder / "labels.csv").read_text().splitlines()[1:]))
        links = list(csv.reader((folder / "links.csv").read_text().splitlines()[1:]))
        people = sorted(f"p{number}" for number in range(40))
        lines = ["id,label", *(f"{person},{labels.get(person, '')}" for person in people)]
        (folder / "people.csv").write_text("\n".join(lines) + "\n")
        assert run(init) == run("graphveil collect invite circle --out tokens.csv") == 0
        tokens = dict(csv.reader((folder / "tokens.csv").read_text().splitlines()[1:]))
        with collecting("circle") as port:
            for asked in (False, True):
                for person in sorted(TAKE_PART):
                    friends = {end for link in links if person in link for end in link} - {person}
                    (folder / "friends.txt").write_text("\n".join(sorted(friends)))
                    words = answer.replace("https://collect.example.org", f"http://127.0.0.1:{port}")
                    words = words.replace("TOKEN", tokens[person]).replace("me.csv", f"rows/{person}.csv")
                    assert run(f"{words} --device devices/{person}.sqlite --yes") == 0
                if not asked:
                    assert run(f"{learn} --set epochs=5") == 0
            closed = [run(f"graphveil collect close circle {number}") for number in (1, 2)]
        yield folder, [*closed, run(f"{learn} --set epochs=5")]


def test_links_that_nobody_else_knows_are_learned_from(circle):
    folder, codes = circle
    assert codes == [0, 0, 0]
    card = json.loads((folder / "circle" / "results" / "solitude" / "card.json").read_text())
    assert [each["subject"] for each in card["questions"]] == ["features", "links"]
    assert card["answered"] == len(TAKE_PART) and card["privacy"]["links"]["epsilon"] == 6.0
    assert open_collection(folder / "circle").graph().edge_count == 0


def test_every_command_works_but_the_one_that_has_nobody_to_ask(walked):
    statuses, _ = walked
    failed = [place for place, (_, code) in enumerate(statuses) if code != 0]
    assert [statuses[place] for place in failed] == [(LEARN, 2)] and failed == [2]


def test_it_ends_in_predictions_for_everybody_and_a_card_that_forgetting_marks(walked):
    result = walked[1] / "survey" / "results" / "togl"
    lines = (result / "predictions.csv").read_text().splitlines()
    assert len(lines) == 41 and sum(",p17," in line for line in lines) == 1
    assert {"card.html", "card.json", "round-1.json", "round-2.json"} <= {
        each.name for each in result.iterdir()
    }
    (result,) = open_collection(walked[1] / "survey").results()
    assert result.outdated


def test_the_page_names_the_metrics_and_says_of_what_was_not_run_that_it_was_not():
    metrics = Metrics()
    metrics.answered("/healthz", 200)
    text = metrics.text().decode()
    for name in re.findall(r"^\| `(\w+)", PAGE, re.MULTILINE):
        assert f"\n# TYPE {name}" in f"\n{text}", name
    for what in ("That of Caddy was", "A unit of systemd,", "A compose file,"):
        assert re.search(rf"{what}\s+not\s+run\s+with\s+this\s+version", PAGE), what


def test_a_proxy_writes_no_address_beside_the_id_of_a_report():
    (nginx,) = re.findall(r"    limit_req_zone.*?\n    server \{.*?\n    \}\n", PAGE, re.DOTALL)
    # Refused requests stand in the error log, with address and path; bodies beyond the buffer in temporary files.
    assert "access_log off;" in nginx and "error_log /dev/null" in nginx
    most, buffer = re.findall(r"client_(?:max_body|body_buffer)_size (\w+);", nginx)
    assert most == buffer
