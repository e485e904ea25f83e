"""Forwarded headers: the caller's address, scheme and host are taken from trusted proxies alone."""

import ipaddress
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: What a proxy may say of the call it hands on.
HEADERS = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_REAL_IP",
    "HTTP_FORWARDED",
)


class TrustedProxies:
    """The first middleware: takes forwarded headers from a trusted proxy and drops them from anybody else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        said = {name: meta.pop(name) for name in HEADERS if name in meta}
        if is_trusted(meta.get("REMOTE_ADDR", "")):
            self._believe(said, meta)
        return self._get_response(request)

    @staticmethod
    def _believe(said: dict[str, str], meta: dict[str, str]) -> None:
        """With a public address, what comes from a proxy was called by it, also if the proxy does not say so."""
        public = urlsplit(settings.PUBLIC_URL)
        meta["REMOTE_ADDR"] = _caller(said, meta["REMOTE_ADDR"])
        meta["HTTP_X_FORWARDED_PROTO"] = said.get("HTTP_X_FORWARDED_PROTO", public.scheme).strip().lower()
        if public.netloc:
            meta["HTTP_HOST"] = public.netloc


def is_trusted(address: str) -> bool:
    """Whether a connection from this address is one of the proxies the owner named."""
    ip = _parsed(address)
    return ip is not None and any(ip in network for network in networks(settings.TRUSTED_PROXIES))


def networks(texts: Iterable[str]) -> list[Network]:
    """Addresses and networks such as 10.0.0.0/8. Raises ValueError for what is neither."""
    return [ipaddress.ip_network(text.strip(), strict=False) for text in texts if text.strip()]


def _caller(said: dict[str, str], proxy: str) -> str:
    """The last address in the chain that is no proxy of ours: what stands before it anybody may have written."""
    chain = said.get("HTTP_X_FORWARDED_FOR") or said.get("HTTP_X_REAL_IP") or ""
    for part in reversed(chain.split(",")):
        ip = _parsed(part.strip())
        if ip is None:
            return proxy
        if not is_trusted(str(ip)):
            return str(ip)
    return proxy


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
