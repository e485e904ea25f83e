"""The door for clients of MCP: a face over the API, asked over HTTP with the client's own key.

It needs no database and no Django: keys, scopes, limits, outages are minded where the calls are answered.
"""

from typing import Any

#: Where it is spoken over HTTP.
PATH = "/mcp"
#: Where a client without a key learns whom to ask (RFC 9728).
WELL_KNOWN = "/.well-known/oauth-protected-resource"
SCOPES = ("read", "write")


def description(resource: str, issuer: str) -> dict[str, Any]:
    """Where a client asks to be let in to the MCP at this address, and for what."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "memplatform",
    }


def challenge(base: str, *, with_token: bool) -> str:
    """The header of an answer to who has no key, or one that is not valid."""
    parts = [
        *(['error="invalid_token"'] if with_token else []),
        f'resource_metadata="{base}{WELL_KNOWN}{PATH}"',
        f'scope="{" ".join(SCOPES)}"',
    ]
    return f"Bearer {', '.join(parts)}"
