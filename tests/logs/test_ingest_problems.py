"""Guards rows that are wrong: refused with their row, dropped or counted, as asked."""

import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.problems import PROBLEMS, parse_actions
from cltr.logs.readers import LongReader
from tests.logs.ingesting import MANY, found, ingest
from tests.plain_logs import counted, rows, write_csv


def test_line_numbers(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    lines = path.read_text().splitlines()
    lines[7] = "s2,q,1,a"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"log.csv: line 8: expected number of columns: 5 found: 4"):
        ingest(path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"click": "perhaps"},
            r"clicks that are neither yes nor no.*such as data row 4: query 'q', doc",
        ),
        (
            {"position": "first"},
            r"positions that are no whole number.*such as data row 4.*say --on bad-",
        ),
        ({"position": "1.5"}, r"positions that are no whole number"),
        ({"position": "0"}, r"if the first position is 0, say --positions-from 0"),
        (
            {"position": "1070"},
            r"positions go up to 1,070; at most 1000 ranks can be kept; say .*--top-k",
        ),
    ],
)
def test_values_that_make_no_sense_are_refused_with_their_row(tmp_path, change, line):
    table = [dict(row) for row in MANY]
    table[3] |= change
    with pytest.raises(DataError, match=line):
        ingest(write_csv(tmp_path / "log.csv", table))


def test_all_values_that_are_refused_are_named_at_once(tmp_path):
    table = [dict(row) for row in MANY]
    table[3]["position"], table[4]["click"] = "first", ""
    path = write_csv(tmp_path / "log.csv", table)
    with pytest.raises(DataError) as caught:
        ingest(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: 2 problems: (1) positions that are no whole number")
    assert "; (2) clicks that are neither yes nor no" in line
    words = ["--on bad-positions=drop", "--on unknown-clicks=keep"]
    assert line.endswith(f"to go on with all of them, say {' '.join(words)}")
    ingest(path, on=[word.removeprefix("--on ") for word in words])


def messy() -> list[dict]:
    """Sessions, of which some come again, some repeat a document, and some have another order."""
    orders = [("abc", 1)] * 40 + [("abcb", 1)] * 5 + [("abc", 2)] * 5
    table = [
        {"session": f"s{i}", "query": "q", "position": k, "doc": doc, "click": int(k == 1)}
        for i, (order, times) in enumerate(orders)
        for _ in range(times)
        for k, doc in enumerate(order, start=1)
    ]
    return [*table, *(row | {"doc": row["doc"].upper()} for row in table[:15])]


def test_problems_that_counting_finds_are_named_at_once(tmp_path):
    """What may be behind all of them is told once; options accept them together."""
    path = write_csv(tmp_path / "log.csv", messy())
    with pytest.raises(DataError) as caught:
        ingest(path)
    line, names = str(caught.value), ["repeated-rows", "conflicts", "repeated-documents"]
    assert line.startswith(f"{path}: 3 problems: (1) rows that repeat another row")
    assert line.index("(2) interactions whose rows") < line.index("(3) documents at several")
    assert line.count("--format events") == 1
    accept = [f"--on {name}=drop" for name in names]
    assert line.endswith(f"to go on with all of them, say {' '.join(accept)}")
    assert not (tmp_path / "log.h5").exists()
    report, _ = ingest(path, on=[word.removeprefix("--on ") for word in accept])
    assert list(found(report)) == names


def test_a_problem_of_values_ends_the_search(tmp_path):
    """What else there is cannot be known."""
    table = messy()
    table[3]["position"] = "first"
    with pytest.raises(DataError, match=r"log\.csv: positions that are no whole") as caught:
        ingest(write_csv(tmp_path / "log.csv", table))
    assert "contradict" not in str(caught.value)


def test_a_table_of_scores_is_looked_at_before_the_log_is_read(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "log.csv", MANY)
    scores = tmp_path / "scores.csv"
    scores.write_text("query,document,bm25,age\nq,a,1,2\n")
    monkeypatch.setattr("cltr.logs.ingest.code", lambda *given: pytest.fail("the log was read"))
    with pytest.raises(DataError, match=r"scores\.csv: which column is the score"):
        ingest_log(LogSource([path], LongReader(), production=scores), tmp_path / "out.h5")


def test_positions_may_count_from_zero(tmp_path):
    table = [row | {"position": row["position"] - 1} for row in MANY]
    path = write_csv(tmp_path / "log.csv", table)
    log = ingest(path, reader=LongReader(positions_from=0))[1]
    assert counted(log) == counted(ingest(write_csv(tmp_path / "one.csv", MANY))[1])
    with pytest.raises(
        DataError, match=r"first position is 0, say --positions-from 0; or say --on"
    ):
        ingest(path)
    with pytest.raises(DataError, match="nothing was ever shown at the first position"):
        ingest(tmp_path / "one.csv", reader=LongReader(positions_from=0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_a_default_and_can_be_refused(name):
    problem = PROBLEMS[name]
    assert "refuse" in problem.actions
    assert parse_actions([f"{name}={problem.actions[0]}"]) == {name: problem.actions[0]}
    assert parse_actions(["all=refuse"])[name] == "refuse"


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("gaps", "expected problem=keep, drop or refuse"),
        ("gaps=mend", "expected problem=keep, drop or refuse"),
        ("gap=drop", r"no problem 'gap'; there are: .*Did you mean 'gaps'"),
        ("conflicts=keep", "conflicts can only be set to drop or refuse"),
    ],
)
def test_wrong_words_about_problems(word, line):
    with pytest.raises(UsageError, match=line):
        parse_actions([word])


DIRTY_ROWS = {
    "missing-values": {"doc": ""},
    "unknown-clicks": {"click": "?"},
    "repeated-clicks": {"click": "3"},
    "bad-positions": {"position": "-3"},
    "clicks-without-impression": {"position": "", "click": 1},
}


@pytest.mark.parametrize("name", DIRTY_ROWS)
def test_a_problem_is_dropped_or_refused_as_asked(tmp_path, name):
    odd = {"session": "s0", "query": "q", "position": 4, "doc": "x", "click": 0} | DIRTY_ROWS[name]
    path = write_csv(tmp_path / "log.csv", [*MANY, odd])
    with pytest.raises(DataError, match=rf"\(1 (of \d+ )?(rows|clicks).*--on {name}="):
        ingest(path, on=[f"{name}=refuse"])
    assert not (tmp_path / "log.h5").exists()
    other = next(action for action in PROBLEMS[name].actions if action != "refuse")
    report, log = ingest(path, on=[f"{name}={other}"])
    assert found(report) == {name: 1}
    impressions = counted(log)[0]
    assert impressions["q", "x", 4] == (1 if name == "repeated-clicks" else 0)


def test_interactions_with_gaps_can_be_dropped(tmp_path):
    table = [row for row in MANY if not (row["session"] == "s3" and row["position"] == 2)]
    path = write_csv(tmp_path / "log.csv", table)
    kept, dropped = ingest(path)[1], ingest(path, on=["gaps=drop"])[1]
    assert sum(counted(kept)[2].values()) == 60
    assert sum(counted(dropped)[2].values()) == 59
    assert sum(counted(dropped)[0].values()) == len(table) - 2
    with pytest.raises(DataError, match=r"\(1 interactions, such as query 'q', session 's3'\)"):
        ingest(path, on=["gaps=refuse"])


@pytest.mark.parametrize("documents", [3, 40, 64, 65, 300], ids=str)
def test_a_document_that_comes_twice_in_a_list_counts_once(tmp_path, documents):
    """All ranks are filled, each once: only the documents tell."""
    names = [f"d{i}" for i in range(documents)]
    twice = [*names[:-1], names[0]]
    table = rows(*([(names, ("d1",))] * 40), (twice, ("d0",)))
    report, log = ingest(write_csv(tmp_path / "log.csv", table))
    assert found(report) == {"repeated-documents": 1}
    impressions, clicks, displays = counted(log)
    assert impressions["q", "d0", 1] == 41 and impressions["q", "d0", documents] == 0
    assert clicks["q", "d0", 1] == 1 and sum(displays.values()) == 41
