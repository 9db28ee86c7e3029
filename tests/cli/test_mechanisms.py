from graphveil.mechanisms import entry, names


def test_all_mechanisms_are_listed(call):
    out = call("mechanisms").out
    assert all(name in out for name in names())


def test_json_has_name_subject_summary_and_whom_one_has_to_trust(call):
    found = call("mechanisms --json").json["mechanisms"]
    assert [one["name"] for one in found] == names()
    assert all(one["summary"] == entry(one["name"]).summary for one in found)
    assert [one["name"] for one in found if one["trust"] == "curator"] == ["lapgraph", "privhrg", "edgerr"]
    assert {one["trust"] for one in found} == {"local", "curator"}
    assert "curator" in call("mechanisms lapgraph").lines[1]


def test_a_mechanism_is_drawn_at_a_budget(tmp_path, call):
    file = tmp_path / "krr.svg"
    assert call(f"mechanisms krr --plot {file} --epsilon 2").out == f"The figure is in {file}.\n"
    assert "krr at ε = 2" in file.read_text(encoding="utf-8")


NO_DRAWINGS = [
    ("--plot x.svg", "draws one mechanism: name it"),
    ("krr --epsilon 2", "give --plot FILE.svg too"),
    ("krr --plot x.pdf", "x.pdf has the unsupported format .pdf"),
    ("krr --plot x.svg --epsilon -1", "epsilon must be"),
]


def test_a_drawing_that_cannot_be_is_refused(refuses):
    refuses(NO_DRAWINGS, "mechanisms")
