"""Calls of Lark's server API: the token, and what its error codes mean.

The vendor's package is not used for them: it keeps one token an app id for the whole process, whoever gave which
secret, so that a workspace could send by the token of another; and it takes 180 MB.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from channels_app.platforms.network import Answer, Login, ask
from channels_app.platforms.wire import Account, KeyRefused, NotDeliverable, PlatformFailure, TryLater

#: open.feishu.cn/document/server-docs/api-call-guide/frequency-control; 230020 and 11232 are those of one chat and one
#: company (im-v1/message/create): they pass.
_BUSY = frozenset({99991400, 230020, 11232, 11233, 11247})
#: The same message is on its way (230049), or nobody can be written to at the moment (230101): that passes too.
_PASSING = frozenset({230049, 230101})
#: The token ran out or was withdrawn: a new one is asked for, once.
_STALE_TOKEN = frozenset({99991661, 99991663, 99991664, 99991668, 99991671})
#: The app is not let in: not installed, switched off, without its bot, or without the right to send.
_REFUSED = _STALE_TOKEN | {99991662, 99991672, 99991673, 230006}
_RESET = "x-ogw-ratelimit-reset"


def server_of(account: Account) -> str:
    """Where the account is: open.feishu.cn, or open.larksuite.com."""
    is_lark = account["server"].strip().lower().removeprefix("https://").removeprefix("open.").startswith("lark")
    return str(settings.LARK_API_URL if is_lark else settings.FEISHU_API_URL)


def call(account: Account, path: str, payload: Mapping[str, Any] | None = None, **more: Any) -> Mapping[str, Any]:
    """What a call answers. Raises KeyRefused, NotDeliverable, TryLater."""
    server, app, secret = server_of(account), account["app_id"], account["app_secret"]

    def get(_is_fresh: bool) -> tuple[str, float]:
        url = f"{server}/open-apis/auth/v3/tenant_access_token/internal"
        answer = ask(url, {"app_id": app, "app_secret": secret})
        if answer.body.get("code") != 0:
            raise _failure(answer)
        return str(answer.body.get("tenant_access_token", "")), float(answer.body.get("expire") or 0)

    def ask_by(token: str) -> Answer:
        return ask(f"{server}/open-apis{path}", payload, headers={"Authorization": f"Bearer {token}"}, **more)

    login = Login((server, app, secret), get)
    answer = login.ask(ask_by, lambda answer: answer.body.get("code") in _STALE_TOKEN)
    if answer.body.get("code") != 0:
        raise _failure(answer)
    return answer.body


def _failure(answer: Answer) -> PlatformFailure:
    code = answer.body.get("code")
    words = f"{code or answer.status} {answer.body.get('msg', '')}"[:150].strip()
    if code in _BUSY or answer.status == 429:
        return TryLater(words, answer.seconds(_RESET) or 1.0)
    if code in _PASSING or code is None:
        return TryLater(words)
    return KeyRefused(words) if code in _REFUSED else NotDeliverable(words)
