def test_every_level_is_shown_and_json_is_one_object(call):
    out = call("advise levels --data town --epsilon 0.5 --levels 3").out
    for said in ("without it and", "hidden up to ε", "0.5", "1", "2"):
        assert said in out
    told = call("advise levels --data town --epsilon 1 --budgets 1,3 --json").json
    assert [each["budget"] for each in told["levels"]] == [1.0, 3.0]
    assert told["level_epsilon"] > 0


NO_LEVELS = [
    ("--mechanism multibit", "levels"),
    ("--budgets 1,x", "--budgets takes numbers"),
    ("--level-distribution odd", "no distribution of levels"),
    ("--level-distribution mine.txt", "no distribution of levels"),
]

SMALL = "--data town --set data.users=400 --set data.labelled=0.5 --set data.validated=0.25"
FAST = "--set epochs=5"


def test_budgets_are_told_with_a_verdict_and_what_two_points_need(call):
    out = call("advise budget", SMALL, FAST, "--epsilon 1,4").out
    assert "veil gains" in out and "collect" in out and "Nobody was asked" in out


def test_budgets_as_json_with_a_panel_and_a_page(call, tmp_path):
    page = tmp_path / "advice.html"
    told = call("advise budget", SMALL, FAST, f"--epsilon 2 --panel 50 --json --out {page}").json
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

LIARS = "--data town --epsilon 2 --set data.users=200 --set data.degree=8"
SHORT = f"{LIARS} --set epochs=2 --share 0.1"


def test_poisoning_is_a_table_with_what_it_rests_on(call):
    said = call("advise poisoning", SHORT).words
    assert "10.0%" in said and "exact, from the alphabet and what is refused" in said
    assert "Predictions are measured, in 1 run" in said
    told = call("advise poisoning base", SHORT, "--json").json
    assert told["lines"][1]["moved"] == [0.1 * told["influences"][0]["most"]]


def test_what_makes_no_sense_is_refused(refuses):
    refuses(NO_LEVELS, "advise levels --data town --epsilon 1")
    refuses(NO_BUDGETS, "advise budget", SMALL)
    refuses([("--share 2", "share")], "advise poisoning", LIARS)


def test_without_a_word_it_lists_what_there_is_advice_on(call):
    lines = call("advise").lines
    assert lines[0].split() == ["advise", "what", "it", "says"]
    assert {"levels", "budget"} <= {line.split()[0] for line in lines[1:]}
    assert "what veil would buy over structure" in " ".join(lines)
    advice = call("advise --json").json["advice"]
    assert advice["levels"].startswith("Show what each privacy level costs on a graph")
