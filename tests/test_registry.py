import pytest

from graphveil.errors import InputError, UnknownNameError
from graphveil.plugins import Registry
from tests.packages import install


def fruit():
    return Registry[int]("fruit", {"apple": 1, "pear": 2})


def test_it_is_a_mapping_in_the_order_of_adding():
    basket = fruit()
    basket.add("fig", 3)
    assert list(basket.items()) == [("apple", 1), ("pear", 2), ("fig", 3)]
    assert len(basket) == 3 and "fig" in basket and basket["fig"] == 3


def test_a_name_is_given_once():
    with pytest.raises(InputError, match="a fruit named 'pear' is registered already"):
        fruit().add("pear", 9)


def test_an_unknown_name_lists_all_and_suggests_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"no fruit is named 'aple': choose one of apple, pear; did you mean 'apple'\?"
    ):
        fruit().find("aple")
    with pytest.raises(UnknownNameError, match="choose one of apple, pear$"):
        fruit().find("zebra")


def test_what_was_removed_is_unknown():
    basket = fruit()
    basket.remove("pear")
    with pytest.raises(UnknownNameError):
        basket.find("pear")
    with pytest.raises(UnknownNameError):
        basket.remove("pear")


GROUP = "graphveil.fruit"


def as_number(name, found):
    if not isinstance(found, int):
        raise InputError(f"{name} is no number")
    return found


def loading():
    return Registry[int]("fruit", {"apple": 1}, group=GROUP, adapt=as_number)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("fig = 3\nword = 'plum'\n\ndef grow():\n    return 1\n")
    return path


def test_what_a_file_defines_is_loaded_and_then_found(file):
    basket = loading()
    assert basket.load(f"{file}:fig") == 3
    assert basket.find(f"{file}:fig") == 3


def test_find_runs_no_file(file):
    file.write_text("raise AssertionError('it was run')")
    with pytest.raises(UnknownNameError):
        loading().find(f"{file}:fig")


def test_a_changed_file_gives_another_thing(file):
    basket = loading()
    basket.load(f"{file}:fig")
    file.write_text("fig = 4\n")
    assert basket.load(f"{file}:fig") == 4


def test_the_same_words_in_another_folder_are_another_file(file, tmp_path, monkeypatch):
    basket = loading()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text("fig = 5\n")
    for folder, number in ((tmp_path, 3), (tmp_path / "other", 5), (tmp_path, 3)):
        monkeypatch.chdir(folder)
        assert basket.load("mine.py:fig") == number


def test_what_was_loaded_has_an_origin_and_what_was_added_has_none(file):
    basket = loading()
    basket.load(f"{file}:fig")
    origin = basket.origin(f"{file}:fig")
    assert origin.words == "the file mine.py" and len(origin.digest) == 64 and origin.path == str(file)
    assert basket.origin("apple") is None


def test_a_name_that_the_file_has_not_is_refused_with_those_that_it_has(file):
    with pytest.raises(InputError, match=r"mine.py has no 'nut': it has grow"):
        loading().load(f"{file}:nut")


def test_the_wrong_kind_is_refused_and_not_kept(file):
    basket = loading()
    with pytest.raises(InputError, match="word is no number"):
        basket.load(f"{file}:word")
    assert list(basket) == ["apple"]


def test_files_are_no_part_of_the_own_names(file):
    basket = loading()
    basket.load(f"{file}:fig")
    assert basket.own() == ["apple"]


def test_what_a_package_offers_is_loaded_by_its_name(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"kiwi": "kiwi"}}, "kiwi = 7\n")
    basket = loading()
    assert "kiwi" not in basket and basket.load("kiwi") == 7
    assert basket.origin("kiwi").digest == "of-a-test 1.5"


def test_an_unknown_name_is_compared_with_what_packages_offer_without_importing_them(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"kiwi": "kiwi"}}, "raise AssertionError\n")
    with pytest.raises(UnknownNameError, match=r"choose one of apple, kiwi; did you mean 'kiwi'\?"):
        loading().load("kiwis")


def test_a_known_name_is_found_without_looking_at_packages(monkeypatch):
    monkeypatch.setattr("graphveil.plugins.plugins", lambda _: pytest.fail("looked"))
    assert loading().load("apple") == 1


def test_a_broken_package_is_named_where_it_is_asked_for(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"kiwi": "kiwi"}}, "1 / 0\n")
    with pytest.raises(
        InputError, match="the fruit 'kiwi' of the package of-a-test 1.5 cannot be loaded: ZeroDivisionError"
    ):
        loading().load("kiwi")


def test_a_broken_package_is_told_of_and_breaks_no_list(tmp_path, monkeypatch):
    (tmp_path / "good").mkdir()
    install(tmp_path, monkeypatch, {GROUP: {"kiwi": "kiwi"}}, "1 / 0\n", "a-broken-one")
    install(tmp_path / "good", monkeypatch, {GROUP: {"lime": "lime"}}, "lime = 8\n", "a-good-one")
    told = []
    assert loading().load_all(told.append) == ["apple", "lime"]
    assert len(told) == 1 and "a-broken-one 1.5" in told[0]


def test_a_package_does_not_take_the_place_of_what_is_there(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"apple": "apple"}}, "apple = 9\n")
    basket, told = loading(), []
    assert basket.load_all(told.append) == ["apple"] and basket.load("apple") == 1
    assert "offers a fruit named 'apple', which there is already" in told[0]


def test_a_registry_of_the_library_s_own_takes_nothing_from_outside(file):
    with pytest.raises(InputError, match="cannot be brought from outside"):
        fruit().load(f"{file}:fig")
