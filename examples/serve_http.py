"""A small ranking service: ranks by a run's serving rule, and logs what the next run needs.

    python examples/serve_http.py runs/001-prpo-dr --logs logs --port 8080

``POST /rank`` takes ``{"request": ..., "query": ..., "documents": [{"id": ..., "features": [...],
"production": ...}, ...]}``, with features by name or in the order of training, and answers with the
documents to show. ``POST /click`` takes ``{"request": ..., "document": ...}``. ``GET /health`` says
that the model is there. Every answer is on disk in ``LOGS/requests.jsonl`` before it is sent, so a
crash loses no record of what users saw. Then:

    cltr ingest logs/requests.jsonl logs/clicks.jsonl --format served --out log.h5
"""

import argparse
import json
import os
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

import cltr
from cltr.errors import CltrError, DataError
from cltr.serving import ServingRule

LARGEST = 10 * 2**20
"""Bytes of a request that are read."""


class LineLog:
    """JSON lines that are on disk when :meth:`write` returns; half a line of a crash is cut off."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._stream = open(path, "ab+")  # noqa: SIM115  # open as long as the service
        self._stream.seek(0)
        whole = self._stream.read().rfind(b"\n") + 1
        self._stream.truncate(whole)

    def write(self, value: dict[str, Any]) -> None:
        line = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            self._stream.write(line)
            self._stream.flush()
            os.fsync(self._stream.fileno())


class Service:
    """A run, its serving rule and its logs."""

    def __init__(self, run: Path, logs: Path) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.run = cltr.load(run)
        self.rule = ServingRule.load(run / "serving.json")
        self.requests, self.clicks = (LineLog(logs / f"{n}.jsonl") for n in ("requests", "clicks"))

    def rank(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The ranking of a request; it is logged first."""
        request, query, documents = asked["request"], asked["query"], asked["documents"]
        ids = [one["id"] for one in documents]
        if not all(isinstance(one, str) and one for one in (request, query, *ids)):
            raise DataError("ids of requests, queries and documents must be text")
        if not ids or len(set(ids)) < len(ids):
            raise DataError("a request needs documents, each once")
        features = [one["features"] for one in documents]
        if isinstance(features[0], dict):
            table: Any = {name: [one[name] for one in features] for name in features[0]}
        else:
            table = np.array(features, np.float64)
        production = np.array([one["production"] for one in documents], np.float64)
        scores = self.run.predict(table, production=production)
        new = dict(zip(ids, scores.tolist(), strict=True))
        old = dict(zip(ids, production.tolist(), strict=True))
        served = self.rule.serve(request, query, new=new, production=old)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.requests.write(served.record(new, old, time=now))
        return {"request": request, "shown": list(served.shown)}

    def click(self, seen: dict[str, Any]) -> dict[str, Any]:
        """A click is logged."""
        self.clicks.write({"request": str(seen["request"]), "document": str(seen["document"])})
        return {}


def handler(service: Service) -> type[BaseHTTPRequestHandler]:
    """What answers HTTP for a service."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/health"
            self._answer(200 if known else 404, {"ok": known, "run": service.run.path.name})

        def do_POST(self) -> None:
            paths = {"/rank": service.rank, "/click": service.click}
            size = int(self.headers.get("Content-Length") or 0)
            if self.path not in paths or size > LARGEST:
                self._answer(404 if self.path not in paths else 413, {"error": "not accepted"})
                return
            try:
                answer = paths[self.path](json.loads(self.rfile.read(size)))
            except (CltrError, KeyError, TypeError, ValueError, AttributeError) as error:
                self._answer(400, {"error": str(error)})
                return
            self._answer(200, answer)

        def _answer(self, code: int, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            del words

    return Handler


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(description="Rank over HTTP, and log for the next run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--logs", type=Path, default=Path("logs"))
    parser.add_argument("--port", type=int, default=8080)
    words = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", words.port), handler(Service(words.run, words.logs)))
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
