"""A device needs numpy, pydantic, cryptography and the standard library: nothing else can be imported here."""

import subprocess
import sys

from tests.client.support import PUBLIC, asked, values

WALL = """
import sys
from pathlib import Path

ALLOWED = {"graphveil", "numpy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
           "cryptography", "cffi", "_cffi_backend", *sys.stdlib_module_names, *MORE} - set(sys.argv[2:])


class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ALLOWED and not name.startswith("_sysconfigdata"):
            raise ImportError(f"{name} is not installed here")


sys.meta_path.insert(0, Wall())
"""
DEVICE = (
    "MORE = []"
    + WALL
    + """
from graphveil.client import Agreement, Cap, Device, Held, Offer
from graphveil.errors import RefusalError
from graphveil.privacy import SignedQuestion

folder = Path(sys.argv[1])
payload, signature, key = (bytes.fromhex(line) for line in (folder / "question").read_text().split())
offer = Offer("c0" * 16, key, "to learn what people like", Cap(4.0), 4, (0.0, 1.0))
device = Device(folder / "books" / "device.sqlite", witnesses=folder / "witnesses", clock=lambda: 1_800_000_000)
device.agree(Agreement(offer, "http://localhost", "0f" * 16, 17, offer.cap, 1_799_999_990))
try:
    print(len(device.answer("c0" * 16, SignedQuestion(payload, signature), Held(row=[0, 1, 0, 1])).envelope))
except RefusalError as refusal:
    print(refusal.reason, refusal, len(device.spendings()[0].lines))
"""
)
# What the extra `cli` brings.
COMMAND = (
    'MORE = ["typer", "click", "rich", "shellingham", "markdown_it", "mdurl", "pygments", "annotated_doc"]'
    + WALL
    + """
from graphveil.cli import status

(Path(sys.argv[1]) / "me.json").write_text("[1, 0]")
print(status(["answer", "--server", "http://other.example", "--row", sys.argv[1] + "/me.json"]))
"""
)


def run(folder, *missing):
    signed = asked(values())
    (folder / "question").write_text(f"{signed.payload.hex()}\n{signed.signature.hex()}\n{PUBLIC.hex()}")
    done = subprocess.run(
        [sys.executable, "-c", DEVICE, str(folder), *missing],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_device_answers_with_little_installed(folder):
    assert int(run(folder)) > 80


def test_without_signatures_it_answers_nothing_and_says_what_to_install(folder):
    told = run(folder, "cryptography")
    assert told.startswith("library ") and "pip install 'graphveil[device]'" in told and told.endswith(" 0")


def test_the_command_needs_no_more_than_its_extra(folder):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(folder)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert "use https" in done.stderr
