"""Ray's client, which joins a cluster at ``ray://host:port``: its failures, each in one line.

Left alone, Ray tries for half a minute and then says only that time is over, whether nobody is
there or the cluster wants a token. So one bare request asks first.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from cltr.errors import CltrError, UsageError

PATIENCE = 10.0
"""Seconds in which a cluster must answer the first request."""
TRIES = 3
"""Times to connect: forking next to threads of gRPC, the cluster may fail to start a server."""
REQUEST = "/ray.rpc.RayletDriver/ClusterInfo"
BY_PROXY = "RAY_grpc_enable_http_proxy"
NOT_STARTED = "Starting Ray client server failed"
PORT = (
    "and the port of its client server, which is 10001 unless --ray-client-server-port says "
    "otherwise"
)
TOKEN = (
    "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the cluster's token or RAY_AUTH_TOKEN_PATH to "
    "a file that holds it"
)


def require_address(cluster: str) -> None:
    """Refuse what is neither ``ray`` nor an address, before any work."""
    if cluster != "ray":
        _place(cluster)


def connect_client(address: str, connect: Callable[[], None]) -> None:
    """Connect to the cluster at an address, or say in one line what is wrong.

    Args:
        address: ``ray://host:port``.
        connect: lets Ray connect.
    """
    wants_token = _ask(address)
    if wants_token and os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        raise CltrError(f"--cluster {address}: the cluster asks for a token: {TOKEN}")
    for left in reversed(range(TRIES)):
        try:
            return connect()
        except ConnectionAbortedError as error:
            if left and NOT_STARTED in str(error):
                continue
            line = (str(error).strip().splitlines() or [""])[-1]
            raise CltrError(f"--cluster {address}: the cluster refused: {line}") from error
        except ConnectionError as error:
            if wants_token:
                raise CltrError(
                    f"--cluster {address}: the cluster refused the token: {TOKEN}"
                ) from error
            raise


@contextmanager
def in_touch() -> Iterator[None]:
    """A lost connection, in one line."""
    try:
        yield
    except ConnectionError as error:
        raise CltrError(
            "the connection to the Ray cluster was lost; finished runs are kept: run the same "
            "command again"
        ) from error


def _ask(address: str) -> bool:
    """Whether the cluster wants a token; an error if none answers."""
    place = _place(address)
    try:
        import grpc
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--cluster {address} needs Ray's client: pip install 'cltr[ray]'"
        ) from error
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return False  # a bare request cannot be read there
    by_proxy = os.environ.get(BY_PROXY, "0").lower() in ("1", "true")
    options = [("grpc.enable_http_proxy", int(by_proxy))]  # as Ray connects
    with grpc.insecure_channel(place, options=options) as channel:
        try:
            channel.unary_unary(REQUEST)(
                b"", timeout=PATIENCE, wait_for_ready=True, metadata=[("client_id", "cltr")]
            )
            code = grpc.StatusCode.OK
        except grpc.RpcError as error:
            code = error.code()
    if code == grpc.StatusCode.UNAUTHENTICATED:
        return True
    if code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
        raise CltrError(
            f"--cluster {address}: no answer within {PATIENCE:.0f} seconds; give the head's "
            f"address {PORT}"
        )
    if code == grpc.StatusCode.UNIMPLEMENTED:
        raise CltrError(
            f"--cluster {address}: something else answers there; give the head's address {PORT}"
        )
    return False


def _place(address: str) -> str:
    try:
        parts = urlsplit(address)
        known = parts.scheme == "ray" and bool(parts.hostname and parts.port)
    except ValueError:  # of the port
        known = False
    if not known:
        raise UsageError(f"--cluster {address}: expected ray or ray://host:port")
    return parts.netloc
