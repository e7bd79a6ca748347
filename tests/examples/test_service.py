"""Guards the example service: over real HTTP, killed in the middle, and back into a log."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import cltr
from cltr.data.dataset_file import save_dataset
from cltr.logs.log_file import open_log
from cltr.serving import ServingRule
from tests import small
from tests.api.conftest import SMALL

SERVICE = Path(__file__).parents[2] / "examples/serve_http.py"


@contextmanager
def service(folder):
    words = [sys.executable, SERVICE, "run", "--logs", "logs", "--port", "0"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()  # no warning, as in a crash
        process.wait()
        process.stdout.close()


def post(address, path, value):
    data = json.dumps(value).encode()
    with urllib.request.urlopen(f"{address}{path}", data, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A run with a canary of 40%, and its queries as requests."""
    monkeypatch.chdir(tmp_path)
    data = small.dataset()
    save_dataset(data, "data.h5")
    cltr.train(**SMALL, data="data.h5", out="run")
    ServingRule(0.4, production="sampled", top_k=5).save("run/serving.json")
    scores = np.linspace(1, 0, data.n_documents)

    def asked(number):
        query = number % data.n_queries
        rows = range(*data.offsets[query : query + 2])
        return {
            "request": f"r{number}",
            "query": str(data.query_ids[query]),
            "documents": [
                {
                    "id": str(data.document_ids[row]),
                    "features": data.features[row].tolist(),
                    "production": float(scores[row]),
                }
                for row in rows
            ],
        }

    return tmp_path, asked


def test_no_record_of_an_answer_is_lost(shop):
    folder, asked = shop
    answers = {}
    for begin in (0, 240):
        with service(folder) as address:
            with urllib.request.urlopen(f"{address}/health", timeout=30) as health:
                assert json.load(health) == {"ok": True, "run": "run"}
            for number in range(begin, begin + 240):
                answer = post(address, "/rank", asked(number))
                answers[answer["request"]] = answer["shown"]
                if number % 2:
                    seen = {"request": answer["request"], "document": answer["shown"][0]}
                    post(address, "/click", seen)
        with open(folder / "logs/requests.jsonl", "ab") as stream:
            stream.write(b'{"cltr": 1, "request": "half a li')  # what a crash may leave
    text = (folder / "logs/requests.jsonl").read_text()
    lines = text.splitlines()[:-1]  # the last one was cut off after the last start
    records = {one["request"]: one["shown"] for one in map(json.loads, lines)}
    assert records == answers
    (folder / "logs/requests.jsonl").write_text("\n".join(lines) + "\n")
    files = [folder / "logs/requests.jsonl", folder / "logs/clicks.jsonl"]
    cltr.ingest(files, format="served", data="data.h5", out="log.h5", test_share=0.0)
    log = open_log(Path("log.h5"))
    assert log.computed
    assert sum(part.clicks.sum() for part in log.statistics.values()) > 0


def test_a_wrong_request_gets_an_error_and_no_record(shop):
    folder, asked = shop
    good = asked(0)
    wrong = [
        {**good, "documents": []},
        {**good, "request": 7},
        {**good, "documents": good["documents"] * 2},
        {**good, "documents": [{**good["documents"][0], "features": [1.0]}]},
        [],
    ]
    with service(folder) as address:
        for one in wrong:
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(address, "/rank", one)
            assert caught.value.code == 400
            caught.value.close()
        assert post(address, "/rank", good)["request"] == "r0"
    assert len((folder / "logs/requests.jsonl").read_text().splitlines()) == 1
