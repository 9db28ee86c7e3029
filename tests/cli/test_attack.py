import pytest

TOWN = "--data town --set data.users=300 --set data.features=8 --runs 2 --set data.neighbourhood=25"
MODEL = "--data town --set data.users=300 --set data.labelled=0.4 --set epochs=5 --runs 1 --feature-epsilon 4"

pytestmark = pytest.mark.usefixtures("own_folder")


def test_without_a_name_the_attacks_are_listed_with_what_is_played(call):
    games = [("attribute", "features"), ("level", "features/level"), ("link", "links"), ("label", "label")]
    games += [("label", "a method"), ("membership", "a method")]
    assert [line.split()[0] for line in call("attack").lines] == ["attack", *(name for name, _ in games)]
    listed = call("attack --json").json["attacks"]
    assert [(each["name"], each["on"]) for each in listed] == games
    assert all(each["game"] and each["unit"] for each in listed)


def test_levels_as_printed_are_broken_with_status_1(call):
    told = call("attack level", TOWN, "--mechanism ppm-printed --epsilon 0.5", ends=1)
    assert told.lines[2].split()[:4] == ["planted", "secrets", "0.5", "100.0"]
    assert told.err.lstrip() == (
        "Error: level inference on ppm-printed, town: 100.0% of guesses are right, above the 33.2% that ε = 0.4 allows: the "
        "promise is broken (where it is kept, less than one in a million of campaigns come out like this)\n"
    )
    # Levels that are sealed hold.
    out = call("attack level", TOWN, "--epsilon 0.5").out
    assert "not above the 87.8% that ε = 3.0" in out
    assert "The bound is about the level of one user" in out


def test_json_is_one_object_and_nothing_else(call):
    found = call("attack attribute", TOWN, "--epsilon 2 --json").json
    expected = {"attack": "attribute", "against": "multibit", "data": "town", "epsilon": 2.0}
    expected |= {"values": 2, "guesses": 600, "figure": None}
    assert {key: found[key] for key in expected} == expected
    assert found["chance"] == 0.5
    assert found["bound"] == pytest.approx(0.8808, abs=1e-4)
    assert found["low"] <= found["mean"] == sum(found["runs"]) / 2 <= found["high"]
    assert set(found["control"]) == {"mean", "low", "high"}
    assert found["holds"] is True
    assert [each["metric"] for each in found["natural"]] == ["balanced accuracy"] * 3


def test_several_budgets_are_drawn(call, tmp_path):
    found = call("attack link", TOWN, "--epsilons 0.5,2 --out link.svg --json").json
    assert [point["epsilon"] for point in found["points"]] == [0.5, 2.0]
    assert found["figure"] == "link.svg"
    assert found["verdict"].startswith("no promise is broken at ε = 0.5 and 2; the closest is ε = ")
    assert (tmp_path / "link.svg").read_text().startswith("<svg")


def test_several_budgets_are_one_table_one_sentence_and_a_page(call, tmp_path):
    lines = call("attack label", TOWN, "--epsilons 1,4 --out label.html").lines
    assert lines[0] == "label inference on krr, town"
    assert [line.split()[2] for line in lines if line.split()[:2] == ["planted", "secrets"]] == ["1", "4"]
    assert len([line for line in lines if "of guesses are right" in line]) == 1
    assert lines[-1] == "The page is in label.html."
    (said,) = [line for line in lines if line.startswith("no promise is broken")]
    assert f'<p class="headline">N{said[1:]}.</p>' in (tmp_path / "label.html").read_text()


MISTAKES = [
    ("label", "Missing option '--data'"),
    ("label --data town", "needs their budget"),
    ("label --data town --epsilon -1", "epsilon must be"),
    ("label --data town --epsilon 1 --epsilons 1,2", "both name budgets"),
    ("label --data town --epsilons a,b", "--epsilons takes numbers"),
    ("link --data town --mechanism krr --epsilon 1", "is about links"),
    ("level --data town --mechanism multibit --epsilon 1", "asks nobody for a privacy level"),
    (
        "label --data town --epsilon 1 --out a.txt",
        "a.txt has the unsupported format .txt: use .svg, .png or .html",
    ),
    ("label --data town --epsilon 1 --runs 0", "runs must be"),
    ("label --data town --epsilon 1 --set epochs=3", "data.KEY"),
    ("label --data town --epsilon 1 --seen embedding", "--seen is about a model"),
    ("label --data town --feature-epsilon 1", "--feature-epsilon is about a model"),
    ("label --data town --method base --epsilon 1", "give --feature-epsilon"),
    ("attribute --data town --prior mine", "--prior takes fair or fitted"),
    ("membership --data town --epsilon 1", "give --feature-epsilon"),
    ("membership --data town --seen dreams --feature-epsilon 1", "--seen takes scores or embedding"),
]


def test_a_mistake_is_one_line_and_status_2(refuses):
    refuses(MISTAKES, "attack", printed=False)


def test_membership_tells_what_a_model_of_public_labels_gives_away(call):
    lines = call("attack membership", MODEL, "--seen embedding").lines
    words = lines[2].split()
    assert (words[:2], words[-1]) == (["planted", "secrets"], "100.0")
    assert lines[4].endswith("no ε promises anything about it")


def test_a_model_s_labels_are_guessed_beside_their_bound(call):
    found = call("attack label", MODEL, "--method base --epsilon 1 --json").json
    assert (found["attack"], found["against"], found["values"], found["guesses"]) == ("label", "base", 4, 60)
    assert found["chance"] == 0.25
    assert found["bound"] == pytest.approx(2.71828 / (2.71828 + 3), abs=1e-4)
    assert [each["name"] for each in found["natural"]] == ["test user"]


def test_a_fitted_prior_is_stated_with_its_bound(call):
    assert "%, fitted to reports." in call("attack attribute", TOWN, "--epsilon 0.5 --prior fitted").out
    assert "prior: both values equally likely." in call("attack attribute", TOWN, "--epsilon 0.5").out
