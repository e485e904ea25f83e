"""A webhook leads to public addresses only, to the very one that was looked at, and to whom the certificate is for."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.exceptions import ValidationError
from django.utils import timezone

from memories import webhooks
from memories.conf import conf
from memories.models import WebhookDelivery, Workspace
from memories.webhooks.delivery import NotSent, is_public
from memories.webhooks.delivery import Receiver as To
from tests.memories.webhooks.conftest import Receiver, deliver, make_webhook


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",  # noqa: S104
        "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::",
        "2001:0:7f00:1::", "2001:db8::1", "::7f00:1",
    ],
)  # fmt: skip
def test_private_addresses_and_ways_to_them_are_none_of_the_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public_addresses_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
def test_this_machine_is_not_reached_by_any_of_its_names(
    workspace: Workspace, receiver: Receiver, settings: Any, host: str
) -> None:
    port = receiver.url.partition("localhost:")[2].partition("/")[0]
    webhook, _secret = make_webhook(workspace, f"https://{host}:{port}/")
    webhooks.announce_test(webhook, actor="user:ann", now=timezone.now())
    settings.MEMORY_WEBHOOK_PRIVATE_ADDRESSES = False
    assert deliver() == {"came_back": 1}
    assert WebhookDelivery.objects.get().error == "private"
    assert receiver.connections == 0


@pytest.mark.parametrize("port", ["0", "65536", "99999", "00000"])
def test_an_address_has_a_port_there_is(port: str) -> None:
    webhooks.check_address("https://example.com:65535/hook")
    webhooks.check_address("https://[2606:4700::1111]/hook")
    with pytest.raises(ValidationError, match="port"):
        webhooks.check_address(f"https://example.com:{port}/hook")


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Every name has these addresses; what is connected to is noted, and refused where it is none of this machine."""
    connected: list[str] = []
    connect = httpcore.SyncBackend.connect_tcp

    def look_up(host: str, port: int, *_: Any, **options: Any) -> list[Any]:
        families = {4: socket.AF_INET, 6: socket.AF_INET6}
        return [(families[ip_address(address).version], 1, 6, "", (address, port)) for address in addresses]

    def note(self: Any, host: str, port: int, **options: Any) -> Any:
        connected.append(host)
        if host != "127.0.0.1":
            raise httpcore.ConnectError
        return connect(self, host, port, **options)

    monkeypatch.setattr("memories.webhooks.delivery.socket.getaddrinfo", look_up)
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", note)
    return connected


def test_one_private_address_among_public_ones_is_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = resolve(monkeypatch, "1.1.1.1", "10.0.0.1")
    with pytest.raises(NotSent, match="private"), To("https://receiver.example/") as receiver:
        receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS)
    assert connected == []


def test_the_connection_goes_to_the_addresses_that_were_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = resolve(monkeypatch, "1.1.1.1", "2606:4700::1111")
    with pytest.raises(NotSent, match="connection"), To("https://receiver.example/") as receiver:
        receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS)
    assert connected == ["1.1.1.1", "2606:4700::1111"]


def test_without_tls_nothing_is_sent() -> None:
    with pytest.raises(NotSent, match="unencrypted"):
        To("http://receiver.example/")


@pytest.mark.parametrize(
    "url",
    ["https://[::1", "https://a:b/", "https://１２７.0.0.1/", "https://..", "https:///path", ""],
)
def test_an_address_that_is_none_holds_up_nobody(settings: Any, url: str) -> None:
    settings.MEMORY_WEBHOOK_PRIVATE_ADDRESSES = True
    with pytest.raises(NotSent, match="unknown_host|connection"), To(url) as receiver:
        receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS)


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    """A receiver with a certificate for receiver.example, and a context that trusts it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), "receiver.example"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begins = datetime.now(UTC) - timedelta(days=1)
    built = x509.CertificateBuilder(subject, subject, key.public_key(), 1, begins, begins + timedelta(days=9))
    named = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    certificate = named.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path / "certificate.pem"
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form) + certificate)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server, serving), daemon=True).start()
        yield server.getsockname()[1], ssl.create_default_context(cadata=certificate.decode())


def _answer(server: socket.socket, serving: ssl.SSLContext) -> None:
    """Answer whoever trusts the certificate, once the whole request is there: closed before, it would be a reset."""
    while True:
        try:
            accepted = server.accept()[0]
        except OSError:  # the test is over
            return
        with suppress(OSError), serving.wrap_socket(accepted, server_side=True) as connection:  # or it was not trusted
            request = b""
            while not request.endswith(b"\r\n\r\n{}") and (part := connection.recv(65_536)):
                request += part
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


def test_the_certificate_is_to_be_for_the_name_and_by_somebody_who_is_trusted(
    encrypted: tuple[int, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MEMORY_WEBHOOK_PRIVATE_ADDRESSES = True
    port, trusting = encrypted
    resolve(monkeypatch, "127.0.0.1")
    with pytest.raises(NotSent, match="connection"), To(f"https://receiver.example:{port}/") as receiver:
        receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS)
    monkeypatch.setattr("memories.webhooks.delivery.truststore.SSLContext", lambda _protocol: trusting)
    with To(f"https://receiver.example:{port}/") as receiver:
        assert receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS) == (204, b"")
    with pytest.raises(NotSent, match="connection"), To(f"https://another.example:{port}/") as receiver:
        receiver.post(b"{}", {}, seconds=conf.WEBHOOK_SECONDS)
