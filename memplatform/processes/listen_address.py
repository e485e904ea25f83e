"""Whether the web server's address is free, and whether it answers."""

import errno
import http.client
import socket
import time

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - looked up, not bound


def obstacle(host: str, port: int, *, patience: float) -> str | None:
    """A sentence when the address cannot be bound; waits `patience` seconds for a predecessor to let go."""
    end = time.monotonic() + patience
    while problem := _bind(host, port):
        if problem.errno != errno.EADDRINUSE:
            return f"The web server cannot listen on {host}:{port}: {problem.strerror}."
        if time.monotonic() >= end:
            return f"Port {port} is in use by another program; set MEMPLATFORM_PORT to a free one."
        time.sleep(0.1)
    return None


def base_url(host: str, port: int) -> str:
    """As a browser on this machine would write it."""
    name = _ANY.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def answers(host: str, port: int, path: str) -> bool:
    """Whether a GET of the path is answered with 200."""
    connection = http.client.HTTPConnection(_ANY.get(host, host), port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _bind(host: str, port: int) -> OSError | None:
    try:
        family, kind, protocol, _name, where = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as trial:
            # Connections of a predecessor that linger do not count.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(where)
            trial.listen(1)
    except OSError as problem:
        return problem
    return None
