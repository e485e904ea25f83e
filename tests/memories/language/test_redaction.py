"""What is told of tools, and what of their arguments is not stored (A6)."""

import json
import time
from typing import Any

import pytest

from memories.language.confidential import NOT_STORED, ToolCall, is_secret_name, redact, redact_value, sequence_of


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "dbPassword",
        "api_key",
        "apiKey",
        "X-Auth-Token",
        "client_secret",
        "Authorization",
        "数据库密码",
        "PIN",
    ],
)
def test_these_names_mean_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["service", "key", "keyboard", "author", "max_tokens", "path", "passenger", "城市", "spinner", ""]
)
def test_these_names_do_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        ("curl -H 'Authorization: Bearer abc.def-123'", "abc.def-123"),
        ("login --password hunter2 --user mei", "hunter2"),
        ("PASSWORD=hunter2 make", "hunter2"),
        ("postgres://mei:hunter2@db/app", "hunter2"),
        ("use sk-proj-a1B2c3D4e5F6g7H8 for it", "sk-proj-a1B2c3D4e5F6g7H8"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "eyJhbGciOiJIUzI1NiJ9"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "MIIE"),
        ("d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e"),
        ("数据库密码是 hunter2，别告诉别人", "hunter2"),
        ('{"api_key": "hunter2"}', "hunter2"),
        ('{"dbPassword": "plumtree", "host": "a", "rest of it is cut', "plumtree"),
        ("accessToken: plumtree", "plumtree"),
    ],
)
def test_what_looks_secret_is_taken_out_of_texts(content: str, secret: str) -> None:
    assert secret not in redact(content) and NOT_STORED in redact(content)


@pytest.mark.parametrize(
    "content",
    [
        *(
            "deploy billing to prod",
            "/var/log/nginx/access-20260301.log",
            "019a0000-0000-7000-8000-000000000000",
            "v1.2.3",
        ),
        *("部署窗口是周四晚上十点", "https://example.com/a/b?c=d", "the passenger list", "3,000 tokens"),
    ],
)
def test_other_texts_stay_as_they_are(content: str) -> None:
    assert redact(content) == content


def test_secrets_are_found_however_deep_they_lie() -> None:
    data = {"env": "prod", "db": {"host": "a", "password": "hunter2"}, "steps": [{"token": "hunter2"}, "pwd=hunter2"]}
    result = redact_value(data)
    assert "hunter2" not in json.dumps(result)
    assert (result["env"], result["db"]["host"]) == ("prod", "a")


@pytest.mark.parametrize(
    "arguments",
    [
        {"dbPassword": "plumtree"},
        {"env": [{"accessToken": "plumtree"}], "城市": "杭州"},
        {"credentials": {"user": "mei", "value": "plumtree"}},
        {"inner": json.dumps({"auth": ["mei", "plumtree"]})},
    ],
)
def test_arguments_written_as_json_are_read_by_their_names(arguments: Any) -> None:
    """As models write them, and as bots hand them on."""
    call = ToolCall("query", {"arguments": json.dumps(arguments)}, json.dumps([arguments]))
    assert "plumtree" not in json.dumps(call.cleaned()) + call.in_one_line()
    assert call.cleaned()["result"].startswith("[{")


def test_json_without_a_secret_stays_as_it_is() -> None:
    for text in ('{"a":1,  "名": "值"}', "[1, 2", "[[" * 5_000, '{"n": 1e999}'):
        assert redact_value(text) == text


def test_a_call_is_told_on_one_line() -> None:
    call = ToolCall("deploy", {"service": "billing", "dry": False, "tags": ["a"], "api_key": "hunter2", "note": "a\nb"})
    assert call.in_one_line() == f"deploy(service=billing, dry=False, tags=…, api_key={NOT_STORED}, note=a b)"
    assert ToolCall("ping").in_one_line() == "ping()"


def test_equal_sequences_only_are_equal() -> None:
    def named(*names: str) -> str:
        return sequence_of([ToolCall(name) for name in names])

    assert named("a", "b") != named("b", "a")
    long = ["step"] * 300
    assert len(named(*long)) <= 500 and named(*long) == named(*long) != named(*long, "x")


def test_odd_arguments_are_taken() -> None:
    nested: Any = "x"
    for _level in range(200):
        nested = [nested]
    assert "…" in json.dumps(redact_value({"a": nested, "\0b": "\0c"}), ensure_ascii=False)
    assert "\0" not in ToolCall("t", {"a\0": "b\0"}).in_one_line()


@pytest.mark.thorough
def test_long_arguments_are_read_at_once() -> None:
    begun = time.thread_time()
    for content in (
        "a" * 200_000,
        "aB3" * 60_000,
        "password " * 20_000,
        "-----BEGIN KEY-----" * 5_000,
        "://a:" * 40_000,
    ):
        redact(content)
    assert time.thread_time() - begun < 5
