def test_it_shows_every_level(call):
    out = call("advise levels --data town --epsilon 0.5 --levels 3").out
    assert "without it and" in out and "hidden up to ε" in out
    for budget in ("0.5", "1", "2"):
        assert budget in out


def test_json_is_one_object(call):
    told = call("advise levels --data town --epsilon 1 --budgets 1,3 --json").json
    assert [each["budget"] for each in told["levels"]] == [1.0, 3.0]
    assert told["level_epsilon"] > 0


NO_LEVELS = [
    ("--mechanism multibit", "levels"),
    ("--budgets 1,x", "--budgets takes numbers"),
    ("--level-distribution odd", "no distribution of levels"),
    ("--level-distribution mine.txt", "no distribution of levels"),
]


def test_what_makes_no_sense_is_refused(refuses):
    refuses(NO_LEVELS, "advise levels --data town --epsilon 1")


SMALL = "--data town --set data.users=400 --set data.labelled=0.5 --set data.validated=0.25"
FAST = "--set epochs=5"


def test_budgets_are_told_with_a_verdict_and_what_two_points_need(call):
    out = call("advise budget", SMALL, FAST, "--epsilon 1,4").out
    assert "veil gains" in out and "collect" in out and "Nobody was asked" in out


def test_budgets_as_json_with_a_panel_and_a_page(call, tmp_path):
    page = tmp_path / "advice.html"
    more = ["--epsilon", "2", "--panel", "50", "--json", "--out", str(page)]
    told = call("advise budget", SMALL, FAST, more).json
    assert told["panel"]["users"] == 50 and [each["epsilon"] for each in told["budgets"]] == [2.0]
    assert set(told["budgets"][0]) >= {"gain", "low", "high", "verdict", "users_needed", "volunteers_needed"}
    assert "<svg" in page.read_text(encoding="utf-8")


NO_BUDGETS = [
    ("--epsilon 1,x", "--epsilon takes numbers"),
    ("--epsilon 0", "epsilon must be"),
    ("--out page.txt", "page.txt has the unsupported format .txt: use .html with --out"),
    ("--panel 5000", "panel must be an integer of at most 200"),
    ("--set nothing=1", "nothing"),
]


def test_budgets_that_make_no_sense_are_refused(refuses):
    refuses(NO_BUDGETS, "advise budget", SMALL)


def test_without_a_word_it_lists_what_there_is_advice_on(call):
    lines = call("advise").lines
    assert lines[0].split() == ["advise", "what", "it", "says"]
    assert {"levels", "budget"} <= {line.split()[0] for line in lines[1:]}
    assert "what veil would buy over structure" in " ".join(lines)
    advice = call("advise --json").json["advice"]
    assert advice["levels"].startswith("Show what each privacy level costs on a graph")
