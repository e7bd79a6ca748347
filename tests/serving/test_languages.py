"""The rule of docs/serving.md gives the same rankings in Python, SQL and Java."""

import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from cltr.serving import coin, sample_ranking

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
REQUESTS, DOCUMENTS = 10_000, 50
ODD = ["coin", "coin:r1", "doc:", ":", " ", "select", "null", "naïve", "日本", "'; --", "\\n"]


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return found


@pytest.fixture(scope="module")
def candidates() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    names = [*ODD, *(f"document-{d}" for d in range(DOCUMENTS - len(ODD)))]
    scores = rng.normal(scale=2, size=(REQUESTS, DOCUMENTS)).round(3)
    return {f"r{i}": dict(zip(names, row.tolist(), strict=True)) for i, row in enumerate(scores)}


@pytest.fixture(scope="module")
def in_python(candidates) -> dict[str, list[str]]:
    return {one: list(sample_ranking(scores, one)) for one, scores in candidates.items()}


def test_sql_gives_the_same_rankings(candidates, in_python):
    table = pa.table(
        {
            "request": [one for one, scores in candidates.items() for _ in scores],
            "document": [name for scores in candidates.values() for name in scores],
            "score": [score for scores in candidates.values() for score in scores.values()],
        }
    )
    with duckdb.connect() as connection:
        connection.register("candidates", table)
        rows = connection.execute(block("sql")).fetchall()
    ranked: dict[str, list[str]] = {}
    for request, document, _ in rows:
        ranked.setdefault(request, []).append(document)
    assert ranked == in_python


MAIN = """
    public static void main(String[] args) throws Exception {
        var utf8 = StandardCharsets.UTF_8;
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in, utf8));
        var out = new java.io.PrintStream(System.out, false, utf8);
        String[] names = in.readLine().split("\\t");
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split("\\t");
            Map<String, Double> scores = new java.util.HashMap<>();
            for (int i = 0; i < names.length; i++)
                scores.put(names[i], Double.parseDouble(parts[i + 1]));
            out.println(coin(parts[0]) + "\\t" + String.join("\\t", sample(scores, parts[0])));
        }
        out.flush();
    }
}
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_java_gives_the_same_rankings(candidates, in_python, tmp_path):
    source = block("java").rstrip().removesuffix("}") + MAIN
    (tmp_path / "ServingRule.java").write_text(source, encoding="utf-8")
    names = list(next(iter(candidates.values())))
    lines = ["\t".join(names)]
    lines += ["\t".join([one, *map(repr, scores.values())]) for one, scores in candidates.items()]
    ran = subprocess.run(
        ["java", str(tmp_path / "ServingRule.java")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    assert [row[1:] for row in rows] == list(in_python.values())
    assert [float(row[0]) for row in rows] == [coin(one) for one in candidates]


def test_the_python_of_the_page_runs(capsys):
    exec(compile(block("python"), "serving.md", "exec"), {})
    assert "production" in capsys.readouterr().out
