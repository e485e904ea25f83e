"""WeChat official accounts: called with XML, plain or encrypted, answered by messages of customer service.

An account that may not send those is answered in the call itself (`channels_app.platforms.call_answers`).

Signature, encryption, kinds of messages and codes: developers.weixin.qq.com/doc/offiaccount. It reports neither edits
nor messages that were taken back, and has no groups.
"""

import secrets
from dataclasses import replace
from typing import ClassVar

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from channels_app.models import Receiving
from channels_app.platforms import tencent
from channels_app.platforms.wire import (
    Account,
    Call,
    Introduced,
    KeyRefused,
    OnlyInCall,
    Option,
    Outgoing,
    Platform,
    Received,
)

#: developers.weixin.qq.com/doc/offiaccount/Getting_Started/Global_Return_Code.html
CODES = tencent.Codes(
    "wechat",
    expired={40001, 40014, 42001},
    refused={
        40002, 40013, 40125, 40164, 41002, 41004, 48001, 48004, 50001, 61004, 89501, 89503, 89506, 89507,
    },
    passing={-1: None, 45009: 3600.0, 45011: 60.0},
)  # fmt: skip


class WeChat(Platform):
    """An official account of WeChat that may send messages of customer service."""

    name = "wechat"
    label = _("WeChat official account")
    options: ClassVar = (
        Option(
            name="app_id",
            label=_("AppID"),
            help=_("At mp.weixin.qq.com, under basic configuration; it begins with wx."),
        ),
        Option(
            name="app_secret",
            label=_("AppSecret"),
            help=_("On the same page. The address of this server has to be among its IP addresses that may call."),
            is_secret=True,
            is_needed=False,
        ),
        Option(
            name="token",
            label=_("token of the server configuration"),
            help=_("3 to 32 letters and digits that you choose, the same there and here."),
            is_secret=True,
        ),
        Option(
            name="aes_key",
            label=_("EncodingAESKey"),
            help=_("43 letters, where the mode there is the safe one. With it only encrypted calls are taken."),
            is_secret=True,
            is_needed=False,
        ),
        Option(
            name="in_call",
            label=_("this account may not use the customer-service API"),
            help=_(
                "For an account that is not certified: it is answered within WeChat's five seconds, or at the next"
                " message. It needs no AppSecret."
            ),
            is_needed=False,
            is_switch=True,
        ),
    )
    receiving = (Receiving.WEBHOOK,)
    text_chars = 600  # 2,048 bytes

    def introduce(self, account: Account) -> Introduced:
        if account["aes_key"]:
            try:
                tencent.key_of(account["aes_key"])
            except ValueError:
                raise KeyRefused("EncodingAESKey") from None
        if not self.is_answered_in_call(account):
            if not account["app_secret"]:
                raise KeyRefused("AppSecret", "app_secret")
            _api(account).login.token()
        return Introduced(account=account["app_id"])

    def receive(self, call: Call, account: Account) -> Received:
        if call.method == "GET":
            tencent.verify(call, account["token"], parameter="signature")
            return Received(answer=call.query.get("echostr", ""), content_type="text/plain")
        messages = tencent.messages_of(_opened(call, account))
        if self.is_answered_in_call(account):
            messages = [replace(message, token=message.key) for message in messages]
        return Received(messages=messages, answer="success", content_type="text/plain")

    def is_answered_in_call(self, account: Account) -> bool:
        return bool(account["in_call"])

    def reply(self, text: str, call: Call, account: Account) -> Received:
        body, now = _opened(call, account), str(int(call.now.timestamp()))
        answer = {
            "ToUserName": body["FromUserName"], "FromUserName": body.get("ToUserName", ""), "CreateTime": now,
            "MsgType": "text", "Content": text,
        }  # fmt: skip
        if account["aes_key"]:
            encrypted = tencent.encrypt(account["aes_key"], tencent.write_xml(answer).encode(), account["app_id"])
            nonce = secrets.token_hex(8)
            signature = tencent.signature(account["token"], now, nonce, encrypted)
            answer = {"Encrypt": encrypted, "MsgSignature": signature, "TimeStamp": now, "Nonce": nonce}
        return Received(answer=tencent.write_xml(answer), content_type="application/xml")

    def send(self, message: Outgoing, account: Account) -> str:
        if self.is_answered_in_call(account):
            raise OnlyInCall
        body = {"touser": message.peer or message.chat, "msgtype": "text", "text": {"content": message.text}}
        _api(account).ask("/cgi-bin/message/custom/send", json=body)
        return ""

    def show_typing(self, chat: str, account: Account) -> None:
        if self.is_answered_in_call(account):
            return
        _api(account).ask("/cgi-bin/message/custom/typing", json={"touser": chat, "command": "Typing"})


def _api(account: Account) -> tencent.Api:
    parameters = {"grant_type": "client_credential", "appid": account["app_id"], "secret": account["app_secret"]}
    return tencent.Api(settings.WECHAT_API_URL, "POST", "/cgi-bin/stable_token", parameters, CODES)


def _opened(call: Call, account: Account) -> dict[str, str]:
    """The elements of a genuine call. Raises NotGenuine, NotReadable."""
    if not account["aes_key"]:
        tencent.verify(call, account["token"], parameter="signature")
        return tencent.read_xml(call.body)
    encrypted = tencent.read_xml(call.body).get("Encrypt", "")
    tencent.verify(call, account["token"], parameter="msg_signature", encrypted=encrypted)
    return tencent.read_xml(tencent.decrypt(account["aes_key"], encrypted, account["app_id"]))
