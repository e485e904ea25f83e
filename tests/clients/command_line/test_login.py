"""Which platform is asked, who can read the key, and what a person is message when it cannot be."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memories.models import Scope
from tests.clients.command_line.conftest import Person

pytestmark = [pytest.mark.thorough, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def key(key_for: Callable[..., str]) -> str:
    return key_for()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config" / "memplatform" / "config.json"


def test_a_login_is_kept_for_its_owner_alone_and_ends(
    stranger_at_home: Person, live_server: Any, key: str, config: Path
) -> None:
    person = stranger_at_home
    assert person("login", live_server.url, typed=f"{key}\n").code == 0
    assert config.stat().st_mode & 0o777 == 0o600 and config.parent.stat().st_mode & 0o777 == 0o700
    assert person("remember", "The port is 8080").code == 0
    config.chmod(0o644)
    readable = person("status")
    assert readable.code == 3 and f"chmod 600 {config}" in readable.errors
    config.chmod(0o600)
    config.write_text("{")
    assert "memplatform login" in person("status").errors
    assert person("logout").code == 0 and not config.exists()
    assert person("status").code == 3 and person("logout").code == 1


def test_a_key_is_asked_for_unseen(stranger_at_home: Person, live_server: Any, key: str, config: Path) -> None:
    code, screen = stranger_at_home.at_a_terminal("login", live_server.url, typed=f"{key}\n")
    assert code == 0 and key not in screen
    assert key in config.read_text()


def test_a_key_no_platform_knows_is_not_kept(stranger_at_home: Person, live_server: Any, config: Path) -> None:
    refused = stranger_at_home("login", live_server.url, typed="mp_wrong\n")
    assert refused.code == 3 and "mp_wrong" not in refused.errors + refused.output
    assert not config.exists()


def test_the_key_of_a_login_goes_to_no_other_platform(
    stranger_at_home: Person, live_server: Any, key: str, elsewhere: str
) -> None:
    person = stranger_at_home
    person("login", live_server.url, typed=f"{key}\n")
    for other in (person("ask", "hello", "--url", elsewhere), person("ask", "hello", MEMORY_URL=elsewhere)):
        assert other.code == 3 and f"No key is named for {elsewhere}" in other.errors
    assert person("remember", "The port is 8080", "--url", f"{live_server.url}/").code == 0
    assert Elsewhere.keys == []


def test_the_scope_of_a_login_is_of_its_platform(
    stranger_at_home: Person, live_server: Any, key: str, key_for: Callable[..., str]
) -> None:
    person, other = stranger_at_home, live_server.url.replace("localhost", "127.0.0.1")
    person("login", live_server.url, "--scope", "telegram:direct_u1", typed=f"{key}\n")
    person("remember", "one", "--url", other, "--key", key_for())
    assert list(Scope.objects.values_list("key", flat=True)) == ["main"]


def test_a_flag_wins_over_the_environment_and_the_environment_over_the_login(
    stranger_at_home: Person, live_server: Any, key: str
) -> None:
    person = stranger_at_home
    person("login", live_server.url, "--scope", "telegram:direct_u1", typed=f"{key}\n")
    person("remember", "one")
    person("remember", "two", MEMORY_SCOPE="telegram:direct_u2")
    person("remember", "three", "--scope", "telegram:direct_u3", MEMORY_SCOPE="telegram:direct_u2")
    keys = sorted(Scope.objects.values_list("key", flat=True))
    assert keys == ["telegram:direct_u1", "telegram:direct_u2", "telegram:direct_u3"]


class Elsewhere(BaseHTTPRequestHandler):
    """A page of something else."""

    keys: list[str] = []

    def do_GET(self) -> None:
        self.keys.extend(filter(None, [self.headers["Authorization"]]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p>Welcome</p>")

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def elsewhere() -> Iterator[str]:
    Elsewhere.keys.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ask"], 2, "Missing argument"),
        (["ask", "hello", "--limit", "99"], 2, "--limit"),
        (["recall", "hello"], 2, "No such command"),
        (["ask", "hello", "--url", "platform.example"], 2, "begins with http:// or https://"),
        (["ask", "hello", "--url", "http://[::1"], 2, "is no address"),
        (["ask", "hello", "--url", "http://a:b:c/"], 2, "is no address"),
        (["ask", "hello", "--key", "two words"], 3, "is no key"),
        (["ask", "hello", "--key", "mp_wrong"], 3, "memplatform login"),
        (["ask", "hello", "--scope", "telegram:direct_nobody"], 1, "does not reach it"),
        (["remember", " "], 2, "the text is empty"),
        (["remember", "x" * 8_001], 1, "content:"),
        (["forget", "019a0000-0000-7000-8000-000000000000"], 1, "no such memory"),
        (["import"], 2, "Name a file"),
        (["import", "nowhere.md"], 2, "nowhere.md"),
    ],
)
def test_an_error_names_what_to_do(person: Person, arguments: list[str], code: int, message: str) -> None:
    refused = person(*arguments)
    assert (refused.code, refused.output) == (code, "")
    assert message in refused.errors and "Traceback" not in refused.errors


def test_who_does_not_answer_or_is_no_platform_is_named(person: Person, elsewhere: str) -> None:
    nobody = "http://127.0.0.1:1"
    assert person("status", "--url", nobody).code == 4
    assert f"{nobody} gives no answer" in person("status", "--url", nobody).errors
    for command in (["status"], ["ask", "hello"]):
        other = person(*command, "--url", elsewhere)
        assert other.code == 4 and "Is the address right?" in other.errors
