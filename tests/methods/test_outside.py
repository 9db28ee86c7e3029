"""Methods from files, from packages, and as objects."""

import pytest

from graphveil.errors import InputError, UnknownNameError
from graphveil.methods import METHODS, Method
from tests.packages import install
from tests.refusals import not_refused

pytestmark = pytest.mark.usefixtures("forget_outside")

CODE = """
from graphveil.methods import Method, METHODS
from graphveil.methods.base import Base

class Mine(Base):
    name = "mine"

class Nameless(Method):
    def learn(self, job):
        return None

class Abstract(Method):
    name = "abstract"

class Needy(Mine):
    def __init__(self, what):
        self.what = what

ready = Needy(3)
number = 3
METHODS.add("mine", Mine())
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


@pytest.mark.parametrize("name", ["Mine", "ready", "mine"])
def test_a_class_an_instance_or_a_registered_name_is_a_method_but_not_listed(file, name):
    assert METHODS.load(f"{file}:{name}").name == "mine"
    assert METHODS.find(f"{file}:{name}") is METHODS.load(f"{file}:{name}")
    assert f"{file}:{name}" not in METHODS.own()


def test_what_is_no_method_is_refused(file):
    wrong = [
        ("Nameless", "Nameless has no name: give its class one"),
        ("Abstract", "Abstract cannot be made without arguments: .*abstract"),
        ("Needy", "Needy cannot be made without arguments: .*what"),
        ("number", "number is a int, not a method: name a subclass of graphveil.methods.Method"),
        ("nope", "has no 'nope': it has mine, Mine, Nameless, Abstract, Needy"),
    ]
    failed = not_refused(lambda name: METHODS.load(f"{file}:{name}"), wrong)
    assert not failed, failed


def test_one_of_a_package_is_listed_and_loaded(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.methods": {"theirs": "Mine"}}, CODE)
    assert "theirs" not in METHODS.own() and "theirs" in METHODS.load_all(pytest.fail)
    assert METHODS.origin("theirs").digest == "of-a-test 1.5"


def test_a_broken_package_breaks_no_list(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.methods": {"theirs": "Mine"}}, "import no_such_module\n")
    told = []
    assert METHODS.load_all(told.append) == METHODS.own()
    assert "'theirs' of the package of-a-test 1.5 cannot be loaded: ModuleNotFoundError" in told[0]


class Given(Method):
    name = "given-by-a-test"

    def learn(self, job):
        raise NotImplementedError


def test_an_object_takes_the_place_of_one_that_was_given_before_and_of_no_other():
    first, second = Given(), Given()
    assert METHODS.take(first) == METHODS.take(second) == "given-by-a-test"
    assert METHODS.find("given-by-a-test") is second

    class Base(Given):
        name = "base"

    with pytest.raises(InputError, match="a method named 'base' is registered already"):
        METHODS.take(Base())
    with pytest.raises(InputError, match="is a int, not a method"):
        METHODS.take(3)
    with pytest.raises(UnknownNameError):
        METHODS.find("int")


@pytest.mark.parametrize(
    ("member", "instead"),
    [
        ("takes_panel = True", "can = Capabilities"),
        ("def feature_plans(self, job): return ()", r"questions\(job\)"),
    ],
)
def test_a_member_of_earlier_versions_is_refused_and_not_ignored(tmp_path, member, instead):
    file = tmp_path / "old.py"
    file.write_text(
        f"from graphveil.methods.base import Base\n\nclass Old(Base):\n    name = 'old'\n    {member}\n"
    )
    with pytest.raises(InputError, match=f"Old.* has no meaning any more: write {instead}"):
        METHODS.load(f"{file}:Old")
