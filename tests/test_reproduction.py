"""Guards the paper's figures on the demo data: statements follow the cells, PRPO limits damage."""

import csv

import pytest

from cltr.studies.figures import figure_study
from cltr.studies.job import compare
from cltr.studies.statements import judge_statements
from cltr.studies.summary import Summary

pytestmark = pytest.mark.slow


def reproduced(figure, folder):
    study = figure_study(figure, preset="paper", quick=True)
    result = compare(study, folder, name=figure)
    assert not result["failed"]
    with (folder / "results.csv").open(encoding="utf-8") as file:
        cells = [
            {
                **row,
                "seed": int(row["seed"]),
                "interactions": int(row["interactions"]) if row["interactions"] else None,
                "ndcg@5": float(row["ndcg@5"]),
                "production_ndcg@5": float(row["production_ndcg@5"]),
            }
            for row in csv.DictReader(file)
        ]
    assert len(cells) == len(study)
    return result, Summary(study, cells)


@pytest.mark.parametrize("figure", ["figure-2", "figure-4"])
def test_statements_are_those_of_the_cells(figure, tmp_path):
    result, cells = reproduced(figure, tmp_path)
    again = [vars(statement) for statement in judge_statements(figure, cells)]
    assert result["statements"] == again
    assert len(again) == {"figure-2": 3, "figure-4": 2}[figure]
    if figure == "figure-4":
        for n in cells.study.interactions:
            differences = {
                name: cells.differences(name, "adversarial", n) for name in ("PRPO 1.0", "DR")
            }
            lost = {name: -sum(found.values()) for name, found in differences.items()}
            assert lost["PRPO 1.0"] < lost["DR"]
