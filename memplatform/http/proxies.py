"""Forwarded headers: the caller's address, scheme and host are taken from trusted proxies alone."""

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from memplatform.http.middleware import Middleware

#: Headers of a proxy about the call it hands on.
HEADERS = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_REAL_IP",
    "HTTP_FORWARDED",
)


class TrustedProxies(Middleware):
    """The first middleware: takes forwarded headers from a trusted proxy and drops them from anybody else.

    With a public address, what comes from a proxy was called by it, also if the proxy does not say so.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        forwarded = {name: meta.pop(name) for name in HEADERS if name in meta}
        if is_trusted(meta.get("REMOTE_ADDR", "")):
            public = urlsplit(settings.PUBLIC_URL)
            meta["REMOTE_ADDR"] = _caller(forwarded, meta["REMOTE_ADDR"])
            meta["HTTP_X_FORWARDED_PROTO"] = forwarded.get("HTTP_X_FORWARDED_PROTO", public.scheme).strip().lower()
            if public.netloc:
                meta["HTTP_HOST"] = public.netloc
        return self._get_response(request)


def is_trusted(address: str) -> bool:
    """Whether an address is that of a proxy among the owner's TRUSTED_PROXIES: addresses and networks."""
    ip = _parsed(address)
    named = (text.strip() for text in settings.TRUSTED_PROXIES if text.strip())
    return ip is not None and any(ip in ipaddress.ip_network(network, strict=False) for network in named)


def _caller(forwarded: dict[str, str], proxy: str) -> str:
    """The last address in the chain that is no proxy of ours: what stands before it anybody may have written."""
    chain = forwarded.get("HTTP_X_FORWARDED_FOR") or forwarded.get("HTTP_X_REAL_IP") or ""
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
