"""Guards Ray's client: the bits of local processes through ``ray://``, and failures in one line."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs cltr[ray]")
pytest.importorskip("grpc", reason="needs cltr[ray], with Ray's client")

from cltr.api.fit import fit
from cltr.api.ingest import ingest
from cltr.errors import CltrError, UsageError
from cltr.studies import ray_client
from cltr.studies.ray_client import NOT_STARTED, TRIES, connect_client, in_touch
from tests import small
from tests import untidy_logs as untidy
from tests.plain_logs import write_parquet
from tests.studies.test_ray import DYING, cells

MARK = "CLTR_TEST_HEAD"
"""An environment variable that all processes of the head inherit: so they are found again."""
STARTING = 60.0
"""Seconds in which a head must answer."""


def free_ports(number):
    """Ports of this machine that nobody listens on."""
    taken = [socket.socket() for _ in range(number)]
    try:
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


def processes_of(mark):
    """Processes with this mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def end(head, mark):
    """End the head, and whatever of it is left."""
    head.terminate()
    try:
        head.wait(20)
    except subprocess.TimeoutExpired:
        head.kill()
    until = time.monotonic() + 5
    while processes_of(mark) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in processes_of(mark):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def head():
    """A head of two cores on 127.0.0.1 that asks for a token: its address, and the token's file."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        token = Path(folder) / "token"
        token.write_text("0123456789abcdef" * 4)
        port, client_port = free_ports(2)
        log = Path(folder) / "head.log"
        options = {
            "--port": port,
            "--ray-client-server-port": client_port,
            "--node-ip-address": "127.0.0.1",
            "--num-cpus": 2,
            "--include-dashboard": "false",
            "--temp-dir": folder,
        }
        words = [str(word) for pair in options.items() for word in pair]
        with log.open("w") as output:
            started = subprocess.Popen(
                [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *words],
                env=environment(token)
                | {
                    MARK: folder,
                    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # else it listens on all interfaces
                    "RAY_USAGE_STATS_ENABLED": "0",
                    "GRPC_ENABLE_FORK_SUPPORT": "0",  # see docs/scale.md
                },
                stdout=output,
                stderr=output,
            )
        try:
            until = time.monotonic() + STARTING
            while not answers(client_port):
                assert started.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            yield f"ray://127.0.0.1:{client_port}", token
        finally:
            end(started, folder)
        assert not processes_of(folder)


def environment(token=None):
    """That of a command, without what an earlier test or the user told Ray."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    if token is None:
        return plain
    return plain | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


def cltr(*words, token=None):
    return subprocess.run(
        [sys.executable, "-m", "cltr", *map(str, words)],
        env=environment(token),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_cells_are_those_of_local_processes_though_a_worker_dies(head, tmp_path):
    address, token = head
    marker, plugin = tmp_path / "killed", tmp_path / "dying.py"
    plugin.write_text(DYING.format(marker=str(marker)))
    asked = ["compare", "-m", "prpo/ips", "--seeds", "2", "--no-report"]
    asked += [*small.FLAGS, "--data", small.saved(tmp_path), "--plugin", plugin]
    there = cltr(*asked, "--out", tmp_path / "there", "--cluster", address, token=token)
    assert there.returncode == 0, there.stderr
    assert marker.exists()
    here = cltr(*asked, "--out", tmp_path / "here", "--workers", "1")
    assert here.returncode == 0, here.stderr
    assert len(cells(tmp_path / "there")) == 2
    assert cells(tmp_path / "there") == cells(tmp_path / "here")


def test_a_figure_is_that_of_local_processes(head, tmp_path):
    address, token = head
    asked = ["reproduce", "figure-4", "--preset", "cltr", "-n", "500", "--seeds", "1"]
    asked += ["-o", "scorer.hidden=[6]", "-o", "training.epochs=1", "-o", "production.epochs=1"]
    asked += ["--data", small.saved(tmp_path)]
    there = cltr(*asked, "--out", tmp_path / "there", "--cluster", address, token=token)
    assert there.returncode == 0, there.stderr
    here = cltr(*asked, "--out", tmp_path / "here", "--workers", "1")
    assert here.returncode == 0, here.stderr
    assert len(cells(tmp_path / "there")) > 1
    assert cells(tmp_path / "there") == cells(tmp_path / "here")


def test_intervals_are_those_of_one_process(head, tmp_path):
    address, token = head
    table = untidy.tidy(untidy.interactions(300, queries=12))
    log = ingest(write_parquet(tmp_path / "log.parquet", table), out=tmp_path / "log.h5").path
    asked = ["fit", "--log", log, "--click-model", "pbm", "--intervals", "--json"]
    there = cltr(*asked, "--out", tmp_path / "there", "--cluster", address, token=token)
    assert there.returncode == 0, there.stderr
    here = fit(log, out=tmp_path / "here", click_model="pbm", intervals=True).report["harvested"]
    found = json.loads((tmp_path / "there" / "fit.json").read_text())["harvested"]
    assert "intervals" in found and found == json.loads(json.dumps(here))


def test_a_missing_token_is_one_line_that_says_what_to_set(head, tmp_path):
    address, _ = head
    asked = ["compare", "-m", "ips", *small.FLAGS, "--data", small.saved(tmp_path)]
    refused = cltr(*asked, "--out", tmp_path / "out", "--cluster", address)
    assert refused.returncode == 1
    expected = f"--cluster {address}: the cluster asks for a token: set RAY_AUTH_MODE=token, and"
    assert expected in refused.stderr and "Traceback" not in refused.stderr


def test_an_address_without_a_cluster_is_one_line(run_python):
    (port,) = free_ports(1)
    code = f"""
from cltr.errors import CltrError
from cltr.studies import ray_client

ray_client.PATIENCE = 1.0
try:
    ray_client.connect_client("ray://127.0.0.1:{port}", print)
except CltrError as error:
    print(error)
"""
    (line,) = run_python(code).splitlines()
    assert line.startswith(f"--cluster ray://127.0.0.1:{port}: no answer within 1 seconds; give")


@pytest.mark.parametrize("address", ["ray://", "ray://head", "ray://head:port", "ray://head:99999"])
def test_an_address_without_a_port_is_refused(address):
    with pytest.raises(UsageError, match="expected ray or ray://host:port"):
        connect_client(address, pytest.fail)


def test_a_refused_token_is_one_line(monkeypatch):
    def refused():
        raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray_client, "_ask", lambda address: True)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    expected = "^--cluster ray://head:1: the cluster refused the token: set RAY_AUTH_MODE=token"
    with pytest.raises(CltrError, match=expected):
        connect_client("ray://head:1", refused)


def test_a_server_that_did_not_start_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(ray_client, "_ask", lambda address: False)
    failures = []

    def fails(times, line):
        def connect():
            if len(failures) < times:
                failures.append(line)
                raise ConnectionAbortedError(f"Initialization failure from server:\n{line}\n")

        return connect

    connect_client("ray://head:1", fails(TRIES - 1, NOT_STARTED))
    assert len(failures) == TRIES - 1
    failures.clear()
    expected = f"^--cluster ray://head:1: the cluster refused: {NOT_STARTED}$"
    with pytest.raises(CltrError, match=expected):
        connect_client("ray://head:1", fails(TRIES, NOT_STARTED))
    failures.clear()
    with pytest.raises(CltrError, match=r"the cluster refused: other versions$"):
        connect_client("ray://head:1", fails(TRIES, "other versions"))
    assert len(failures) == 1


def test_a_lost_connection_is_one_line():
    with pytest.raises(CltrError, match="the connection to the Ray cluster was lost"), in_touch():
        raise ConnectionError("Client is shutting down.")
