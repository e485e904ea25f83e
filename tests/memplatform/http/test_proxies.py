"""Behind a proxy with TLS: a trusted one is believed about who calls and how, nobody else is."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from hypothesis import given
from hypothesis import strategies as st

from memories.models import Workspace
from memplatform.http.middleware import TrustedProxies
from tests.conftest import make_key

PUBLIC = {
    "PUBLIC_URL": "https://memory.example.org",
    "TRUSTED_PROXIES": ["127.0.0.0/8", "::1", "10.0.0.0/8"],
    "ALLOWED_HOSTS": ["memory.example.org", "localhost", "127.0.0.1", "testserver"],
    "CSRF_TRUSTED_ORIGINS": ["https://memory.example.org"],
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 31_536_000,
}


@pytest.fixture
def public() -> Iterator[None]:
    with override_settings(**PUBLIC):
        yield


def seen(**meta: str) -> HttpRequest:
    """The request as everything behind the middleware sees it."""
    requests: list[HttpRequest] = []

    def take(request: HttpRequest) -> HttpResponse:
        requests.append(request)
        return HttpResponse()

    TrustedProxies(take)(RequestFactory().get("/", **meta))  # type: ignore[arg-type]
    return requests[0]


def test_a_trusted_proxy_tells_the_caller_the_scheme_and_the_host(public: None) -> None:
    request = seen(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="198.51.100.7", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "198.51.100.7"
    assert request.is_secure()
    assert request.build_absolute_uri("/x") == "https://memory.example.org/x"


def test_a_proxy_that_adds_no_header_was_called_by_the_public_address_all_the_same(public: None) -> None:
    request = seen(REMOTE_ADDR="127.0.0.1", HTTP_HOST="127.0.0.1:8000")
    assert request.is_secure()
    assert request.build_absolute_uri("/x") == "https://memory.example.org/x"


def test_of_a_chain_the_last_address_that_is_no_proxy_of_ours_is_the_caller(public: None) -> None:
    request = seen(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="1.1.1.1, 198.51.100.7, 10.0.0.3")
    assert request.META["REMOTE_ADDR"] == "198.51.100.7"


@pytest.mark.parametrize("proxy", ["203.0.113.1", "::ffff:203.0.113.1", "unix", ""])
def test_nobody_else_is_believed(public: None, proxy: str) -> None:
    request = seen(REMOTE_ADDR=proxy, HTTP_X_FORWARDED_FOR="127.0.0.1", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == proxy
    assert not request.is_secure()
    assert "HTTP_X_FORWARDED_FOR" not in request.META


def test_without_a_public_address_no_proxy_is_believed() -> None:
    request = seen(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="198.51.100.7", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "127.0.0.1"
    assert not request.is_secure()


@given(chain=st.text(max_size=60), proto=st.text(max_size=12))
def test_whatever_a_header_holds_it_is_read_or_left(chain: str, proto: str) -> None:
    with override_settings(**PUBLIC):
        request = seen(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=chain, HTTP_X_FORWARDED_PROTO=proto)
    assert request.META["REMOTE_ADDR"]


@pytest.mark.django_db
def test_one_logs_in_behind_tls_and_the_cookies_are_for_tls_alone(public: None) -> None:
    get_user_model().objects.create_superuser("operator", password="a long enough word")
    proxied = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "198.51.100.7", "HTTP_X_FORWARDED_PROTO": "https"}
    client = Client(enforce_csrf_checks=True, **proxied)
    token = client.get("/admin/login/").cookies["csrftoken"]
    answer = client.post(
        "/admin/login/",
        {"username": "operator", "password": "a long enough word", "csrfmiddlewaretoken": token.value},
        headers={"Origin": "https://memory.example.org", "Referer": "https://memory.example.org/admin/login/"},
    )
    assert answer.status_code == 302
    assert token["secure"] and answer.cookies["sessionid"]["secure"] and answer.cookies["sessionid"]["httponly"]
    assert "max-age=31536000" in answer.headers["Strict-Transport-Security"]


@pytest.mark.django_db
def test_the_link_to_the_next_page_leads_over_tls(public: None, workspace: Workspace) -> None:
    headers = {"Authorization": f"Bearer {make_key(workspace)}", "X-Forwarded-For": "1.2.3.4"}
    headers["X-Forwarded-Proto"] = "https"
    for n in range(3):
        Client().post(
            "/api/v1/entries",
            {"scope": "main", "content": f"Number {n} of the house"},
            content_type="application/json",
            headers=headers,
        )
    answer: Any = Client().get("/api/v1/entries?scope=main&limit=1", headers=headers)
    assert str(answer.json()["next"]).startswith("https://memory.example.org/api/v1/entries")


@pytest.mark.django_db
def test_a_page_asked_for_without_tls_leads_to_tls_and_the_machine_itself_is_answered(public: None) -> None:
    afar = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "1.2.3.4", "HTTP_X_FORWARDED_PROTO": "http"}
    answer = Client(**afar).get("/admin/login/")
    assert (answer.status_code, answer.headers["Location"]) == (301, "https://memory.example.org/admin/login/")
    assert Client(REMOTE_ADDR="127.0.0.1").get("/livez").status_code == 200
