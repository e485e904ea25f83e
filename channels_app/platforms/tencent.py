"""What WeChat and WeCom have in common: how their calls prove themselves and are encrypted, and how theirs are called.

The scheme is one for both (developer.work.weixin.qq.com/document/path/90968): SHA-1 over the sorted parts, AES-256-CBC
under a key of 43 letters, the receiver's id behind the text.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

import structlog
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from channels_app.platforms import network
from channels_app.platforms.wire import Call, Incoming, KeyRefused, NotDeliverable, NotGenuine, NotReadable, TryLater

log = structlog.get_logger(__name__)
#: A call is refused that was signed longer ago, or so far ahead.
AGE_SECONDS = 300
_PLACEHOLDERS = {
    "image": "[photo]", "voice": "[voice message]", "video": "[video]", "shortvideo": "[video]",
    "location": "[location]", "link": "[link]", "file": "[file]",
}  # fmt: skip
#: Bytes of one message of a smart bot.
BOT_BYTES = 20_480
#: The vendors fill up to 32 bytes, though AES has blocks of 16; what is filled up otherwise is no call of theirs.
_PADDING = PKCS7(256)


def signature(*parts: str) -> str:
    """The signature over these parts, in whatever order they are given."""
    return hashlib.sha1("".join(sorted(parts)).encode(), usedforsecurity=False).hexdigest()


def verify(call: Call, token: str, *, parameter: str, encrypted: str = "") -> None:
    """Raises NotGenuine, unless the parameter of this name signs the call, and did so a moment ago."""
    query = call.query
    timestamp, nonce = query.get("timestamp", ""), query.get("nonce", "")
    parts = [token, timestamp, nonce, *([encrypted] if parameter == "msg_signature" else [])]
    try:
        is_genuine = hmac.compare_digest(signature(*parts).encode(), query.get(parameter, "").encode())
    except UnicodeEncodeError:
        raise NotGenuine from None
    if not token or not is_genuine or not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) < 12):
        raise NotGenuine
    if abs(call.now.timestamp() - int(timestamp)) > AGE_SECONDS:
        raise NotGenuine


def key_of(letters: str) -> bytes:
    """The key behind the 43 letters a vendor's page shows. Raises ValueError."""
    key = base64.b64decode(f"{letters}=", validate=True)
    if len(letters) != 43 or len(key) != 32:
        raise ValueError
    return key


def decrypt(letters: str, encrypted: str, receiver: str) -> bytes:
    """The text of an encrypted call. Raises NotGenuine: also where it is meant for another receiver."""
    try:
        key, raw = key_of(letters), base64.b64decode(encrypted, validate=True)
        decryptor, padding = Cipher(algorithms.AES(key), modes.CBC(key[:16])).decryptor(), _PADDING.unpadder()
        plain = padding.update(decryptor.update(raw) + decryptor.finalize()) + padding.finalize()
    except ValueError:  # no base64, no whole blocks, no padding
        raise NotGenuine from None
    length = int.from_bytes(plain[16:20], "big")
    if len(plain) < 20 + length or not hmac.compare_digest(plain[20 + length :], receiver.encode()):
        raise NotGenuine
    return plain[20 : 20 + length]


def encrypt(letters: str, text: bytes, receiver: str) -> str:
    """A text as these vendors encrypt it. Raises ValueError."""
    key = key_of(letters)
    plain = secrets.token_bytes(16) + len(text).to_bytes(4, "big") + text + receiver.encode()
    encryptor, padding = Cipher(algorithms.AES(key), modes.CBC(key[:16])).encryptor(), _PADDING.padder()
    padded = padding.update(plain) + padding.finalize()
    return base64.b64encode(encryptor.update(padded) + encryptor.finalize()).decode()


def parts(text: str, most: int) -> list[str]:
    """A text in parts of at most so many bytes: cut behind a line where there is one."""
    pieces = []
    while len(text.encode()) > most:
        part = text.encode()[:most].decode(errors="ignore")
        part = part[: part.rfind("\n") + 1 or len(part)]
        pieces.append(part)
        text = text[len(part) :]
    return [*pieces, text]


def read_xml(raw: bytes) -> dict[str, str]:
    """The elements of a flat document. Raises NotReadable: also for one that declares anything."""
    try:
        root = fromstring(raw, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError):  # also an encoding nobody knows
        raise NotReadable from None
    return {child.tag: child.text or "" for child in root}


def write_xml(elements: Mapping[str, str]) -> str:
    """A flat document."""
    document = "<xml>"
    for name, text in elements.items():
        legal = "".join(letter for letter in text if letter >= " " or letter in "\n\t")  # no document may hold others
        document += f"<{name}>{escape(legal)}</{name}>"
    return f"{document}</xml>"


def messages_of(body: dict[str, str]) -> list[Incoming]:
    """What somebody wrote, of the elements of a call; nothing of what is none of ours to know. Raises NotReadable."""
    kind, writer, at = body.get("MsgType", ""), body.get("FromUserName", ""), body.get("CreateTime", "")
    if not kind or not writer or not (at.isascii() and at.isdecimal() and len(at) < 12):
        raise NotReadable
    more: dict[str, Any] = {"chat": writer, "peer": writer, "sent_at": datetime.fromtimestamp(int(at), UTC)}
    if kind == "event":  # an event has no id; of a menu's buttons those that stand for a command
        name, target = body.get("Event", ""), body.get("EventKey", "")
        is_command = name.lower() == "click" and target.startswith("/")
        return [Incoming(key=f"event:{writer}:{at}:{target}", text=target, **more)] if is_command else []
    number = body.get("MsgId", "")
    if not number:
        raise NotReadable
    if kind == "text":
        text = body.get("Content", "").strip()
    else:  # a word for it, with what its vendor says of it
        captions = {
            "voice": ("Recognition",), "location": ("Label",), "link": ("Title", "Description", "Url"),
            "file": ("Title",),
        }.get(kind, ())  # fmt: skip
        descriptions = (body.get(name, "").strip() for name in captions)
        text = " ".join(filter(None, [_PLACEHOLDERS.get(kind, ""), *descriptions]))
    sequence = int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else 0
    message = Incoming(key=f"message:{number}", message=number, text=text, sequence=sequence, **more)
    return [message] if text else []


@dataclass(frozen=True)
class Codes:
    """What a vendor's error codes mean: all that are not named say that a message will never arrive."""

    platform: str
    expired: Collection[int] = ()  # the token that was asked by; a new one is fetched once
    refused: Collection[int] = ()
    passing: Mapping[int, float | None] = field(default_factory=dict)  # with the seconds until they do

    def check(self, answer: Mapping[str, Any]) -> None:
        """Raises what an answer's code means: KeyRefused, NotDeliverable, TryLater."""
        code = answer.get("errcode", 0)
        if code == 0:
            return
        if code in self.passing:
            raise TryLater(str(code), self.passing[code])
        if code in self.refused or code in self.expired:
            log.warning("channel.refused", platform=self.platform, code=code)  # their page of codes says why
            raise KeyRefused(str(code))
        raise NotDeliverable(f"{code} {str(answer.get('errmsg', ''))[:100]}")


@dataclass(frozen=True)
class Api:
    """How a vendor is asked: its address, and the call by which it gives a token."""

    url: str
    method: str
    path: str
    secrets: Mapping[str, str]  # what the token is given for
    codes: Codes

    @property
    def login(self) -> network.Login:
        def get(is_fresh: bool) -> tuple[str, float]:
            if self.method == "GET":
                answer = self._answer("GET", self.path, params=self.secrets)
            else:
                answer = self._answer("POST", self.path, json={**self.secrets, "force_refresh": is_fresh})
            self.codes.check(answer)
            token, seconds = str(answer.get("access_token") or ""), answer.get("expires_in")
            if not token:
                raise TryLater("no token")
            return token, max(network.EARLY_SECONDS + 60, seconds if isinstance(seconds, int) else 7200)

        return network.Login((self.codes.platform, self.url, *self.secrets.values()), get)

    def ask(self, path: str, method: str = "POST", **request: Any) -> Mapping[str, Any]:
        """Ask with a token. Raises KeyRefused, NotDeliverable, TryLater."""
        parameters = request.pop("params", {})
        answer = self.login.ask(
            lambda token: self._answer(method, path, params={**parameters, "access_token": token}, **request),
            lambda answer: answer.get("errcode", 0) in self.codes.expired,
        )
        self.codes.check(answer)
        return answer

    def post(self, path: str, **request: Any) -> Mapping[str, Any]:
        """Ask without a token. Raises KeyRefused, NotDeliverable, TryLater."""
        answer = self._answer("POST", path, **request)
        self.codes.check(answer)
        return answer

    def _answer(self, method: str, path: str, **request: Any) -> Mapping[str, Any]:
        answer = network.ask(f"{self.url}{path}", method=method, **request)
        if answer.status != 200 or not answer.body:
            raise TryLater(f"status {answer.status}")
        return answer.body
