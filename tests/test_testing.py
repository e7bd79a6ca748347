"""Guards the guards: each conformance check refuses a component that breaks its contract."""

import click
import numpy as np
import pytest
from pydantic import Field

from cltr import testing
from cltr.checks import Finding
from cltr.checks.leakage import Leakage
from cltr.evaluation.further_metrics import RankBiasedPrecision
from cltr.extensions import Command, DataLayout
from cltr.interfaces import LogReader
from cltr.objectives.rewards import Naive
from cltr.options import Options
from tests.broken_components import NOISE, broken, refused


def test_names_are_one_lower_case_word():
    refused(testing.check_reward, broken(Naive, name="My Reward"), "a name has lower-case letters")


def test_a_component_says_what_it_is():
    refused(testing.check_reward, broken(Naive, doc=""), "has no docstring")


def test_options_are_described_and_closed():
    class Undescribed(Options):
        strength: float = 1.0

    class Open(Options, extra="allow"):
        strength: float = Field(1.0, description="how strong.")

    bare = broken(Naive, Options=Undescribed)
    refused(testing.check_reward, bare, r"option 'broken\.strength' has no description")
    refused(testing.check_reward, broken(Naive, Options=Open), "takes any option")


SHOWN = """
    SELECT * FROM (VALUES
        ('s1', 'q1', 'a', 1, 1), ('s1', 'q1', 'b', 2, 0),
        ('s2', 'q1', 'b', 1, 0), ('s2', 'q1', 'a', 2, 1)
    ) AS log (session, query, document, position, click)
"""
"""Two interactions of two documents each, two of them clicked."""


@pytest.mark.parametrize(
    ("query", "line"),
    [
        (SHOWN, None),
        (f"{SHOWN} WHERE position = 1", "2 impressions are read, not 4"),
        (f"SELECT * REPLACE (0 AS click) FROM ({SHOWN})", "0 clicks are read, not 2"),
        (f"SELECT * REPLACE (session AS query) FROM ({SHOWN})", "no row .* is read"),
        (f"SELECT * EXCLUDE (session) FROM ({SHOWN})", "sessions are lost or invented"),
        (
            f"SELECT * REPLACE ('s1' AS session) FROM ({SHOWN})",
            "the log is refused: .* contradict",
        ),
    ],
)
def test_log_readers(query, line, tmp_path):
    class Reading(LogReader):
        """Reads what it likes."""

        name = "reading"

        def select(self, connection, paths):
            return query

    path = tmp_path / "log.csv"
    path.write_text("its content is not looked at\n")
    row = {"query": "q1", "document": "a", "position": 2, "click": True}
    numbers = {"n_impressions": 4, "n_clicks": 2, "n_interactions": 2, "row": row}
    if line is None:
        testing.check_log_reader(Reading(), path, **numbers)
    else:
        refused(testing.check_log_reader, Reading(), line, path, **numbers)


def values_of(change):
    def values(self, policy, *, top_k):
        return change(RankBiasedPrecision.values(self, policy, top_k=top_k), policy)

    return values


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda values, policy: values[:-1], "one number per query"),
        (lambda values, policy: values * np.nan, "not finite"),
        (lambda values, policy: -values, "the ideal ranking is not better"),
        (lambda values, policy: values * 0, "the ideal ranking is not better"),
        (lambda values, policy: values + NOISE.normal(), "another value each time"),
        (lambda values, policy: values + abs(policy.dataset.features).sum(), "depends on features"),
        (lambda values, policy: None, "sorted rankings have no value"),
    ],
)
def test_metrics(change, line):
    metric = broken(RankBiasedPrecision, values=values_of(change))
    refused(testing.check_metric, metric, line)


def finding(**changes):
    given = {"name": "odd", "uses": {"training": "warning"}, "number": 1.0}
    given |= {"text": "1 thing", "why": "it is odd", "advice": "look"}
    return Finding(**(given | changes))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (["odd"], "which is no Finding"),
        ([finding(text="")], "does not say what and why"),
        ([finding(uses={"lunch": "note"})], "no use lunch"),
        ([finding(advice="")], "does not say what to do"),
        (iter([finding()]), "the same log gives other findings"),
        ([finding()], None),
    ],
)
def test_questions(found, line):
    asking = broken(Leakage, ask=lambda self, evidence: found)
    if line is None:
        testing.check_question(asking)
    else:
        refused(testing.check_question, asking, line)


def built(name="broken", help="Does it.", option_help="How many."):
    option = click.Option(["--many"], help=option_help)
    return click.Command(name, help=help, params=[option], callback=lambda many: None)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (lambda: None, "does not return a click command"),
        (lambda: built(name="other"), "it is called 'other', not 'broken'"),
        (lambda: built(help=""), "has no docstring"),
        (lambda: built(option_help=""), "option --many has no help"),
        (built, None),
    ],
)
def test_commands(command, line):
    one = broken(Command, build=lambda self: command())
    if line is None:
        testing.check_command(one)
    else:
        refused(testing.check_command, one, line)


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (None, "is not found, although"),
        ({"test": ["a.txt"]}, "no training files"),
        ({"train": ["a.txt"], "exam": ["b.txt"]}, "there is no split exam"),
        ({"train": ["a.txt"]}, "1 files are found, not 2"),
        ({"train": ["a.txt", "a.txt"]}, "in two splits"),
        ({"train": ["a.txt", "c.txt"]}, "c.txt is found but does not exist"),
        ({"train": ["a.txt"], "test": ["b.txt"]}, "an empty folder is taken for it"),
    ],
)
def test_data_layouts(tmp_path, files, line):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1 qid:1 1:1\n")

    def find(self, folder, *, fold):
        if files is None:
            return None
        return {split: [tmp_path / name for name in names] for split, names in files.items()}, []

    layout = broken(DataLayout, find=find, title="Broken", highest_grade=4)
    refused(testing.check_data_layout, layout, line, tmp_path, n_files=2)


def test_the_tiny_data_has_all_that_goes_wrong():
    data = testing.tiny_dataset()
    lengths = data.lists.lengths
    assert lengths.min() == 1
    assert lengths.max() > testing.TOP_K
    assert all(first < last for first, last in data.splits.values())
    np.testing.assert_array_equal(data.labels, testing.tiny_dataset().labels)
    clicks = testing.tiny_clicks()
    assert clicks.statistics.n_interactions == 2000
    assert clicks.exposure.weights.shape == data.labels.shape
