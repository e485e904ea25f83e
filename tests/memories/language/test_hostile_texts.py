"""What a bot sends to keep us busy is read in no time, and what it should do it still does."""

import time

import pytest

from memories.language.confidential import NOT_STORED, redact
from sessions_app.models import is_reset_command


@pytest.mark.parametrize("piece", ["<at>", "<at ", "<at></at", "@", "＠a", "/reset<at>"])
def test_mentions_without_end_keep_nobody_busy(piece: str) -> None:
    begun = time.thread_time()
    assert not is_reset_command("/reset " + piece * 60_000)
    assert time.thread_time() - begun < 1  # hundredths on an idle machine; minutes where it backtracks


@pytest.mark.parametrize(
    "piece", ["eyJ-", "eyJa.", "-eyJ", "a.eyJ-", "-----BEGIN KEY", "://a:", "token=", "aA1", "密码"]
)
def test_what_nearly_is_a_secret_keeps_nobody_busy(piece: str) -> None:
    begun = time.thread_time()
    redact(piece * (65_536 // len(piece)))
    assert time.thread_time() - begun < 1


@pytest.mark.parametrize(
    "message",
    ["/reset", " /reset ", "@bot /reset", '<at user_id="ou_1">bot</at> /reset', '<at id="1"/> /reset', "/reset@bot"],
)
def test_a_mention_before_the_command_is_left_out(message: str) -> None:
    assert is_reset_command(message)


@pytest.mark.parametrize("message", ["<at>/reset", "<at> <at>b</at> /reset", "do /reset", "/reset now"])
def test_a_broken_mention_is_no_command(message: str) -> None:
    assert not is_reset_command(message)


@pytest.mark.parametrize("before", ["", "jwt=", "(", "key:", "x-", "a.b "])
def test_a_signed_token_is_not_stored(before: str) -> None:
    redacted = redact(f"{before}eyJhbGci.eyJzdWIi.c2ln and more")
    assert "eyJ" not in redacted
    assert redacted.endswith(f"{NOT_STORED} and more")
