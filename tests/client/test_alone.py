"""A device needs numpy, pydantic, cryptography and the standard library: nothing else can be imported here."""

import json

from tests.client.support import PUBLIC, asked, values
from tests.fixtures import printed_by

# One process, which may import more from step to step: first without signatures, then a device, then what the extra `cli` brings.
STEPS = """
import contextlib, io, json, sys
from pathlib import Path

ALLOWED = {"graphveil", "numpy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
           "cffi", "_cffi_backend", *sys.stdlib_module_names}


class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ALLOWED and not name.startswith("_sysconfigdata"):
            raise ImportError(f"{name} is not installed here")


sys.meta_path.insert(0, Wall())
from graphveil.client import Agreement, Cap, Device, Held, Offer
from graphveil.errors import RefusalError
from graphveil.privacy import SignedQuestion

folder = Path(sys.argv[1])
payload, signature, key = (bytes.fromhex(line) for line in (folder / "question").read_text().split())
offer = Offer("c0" * 16, key, "to learn what people like", Cap(4.0), 4, (0.0, 1.0))


def answered(name):
    books = folder / name / "books" / "device.sqlite"
    device = Device(books, witnesses=folder / name / "witnesses", clock=lambda: 1_800_000_000)
    device.agree(Agreement(offer, "http://localhost", "0f" * 16, 17, offer.cap, 1_799_999_990))
    try:
        return len(device.answer("c0" * 16, SignedQuestion(payload, signature), Held(row=[0, 1, 0, 1])).envelope)
    except RefusalError as refusal:
        return [refusal.reason, str(refusal), len(device.spendings()[0].lines)]


unsigned = answered("unsigned")
ALLOWED.add("cryptography")
signed = answered("signed")
ALLOWED.update(["typer", "click", "rich", "shellingham", "markdown_it", "mdurl", "pygments", "annotated_doc"])
from graphveil.cli import status

(folder / "me.json").write_text("[1, 0]")
with contextlib.redirect_stderr(io.StringIO()) as said:
    ended = status(["answer", "--server", "http://other.example", "--row", str(folder / "me.json")])
print(json.dumps([unsigned, signed, [ended, said.getvalue()]]))
"""


def test_a_device_and_its_command_need_little_and_say_what_to_install(folder):
    signed = asked(values())
    (folder / "question").write_text(f"{signed.payload.hex()}\n{signed.signature.hex()}\n{PUBLIC.hex()}")
    steps = json.loads(printed_by(STEPS, folder))
    reason, said, charged = steps[0]
    assert reason == "library" and "pip install 'graphveil[device]'" in said and charged == 0
    assert steps[1] > 80
    ended, said = steps[2]
    assert ended == 2 and "use https" in said
