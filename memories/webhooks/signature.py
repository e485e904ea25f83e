"""Signatures of deliveries, as the Standard Webhooks specification has them, so that its libraries verify them."""

import base64
import hashlib
import hmac
import secrets

from memories import secrets as kept
from memories.models import Webhook

_PREFIX = "whsec_"
_BYTES = 32


def new_secret(webhook: Webhook) -> str:
    """Make and keep a webhook's secret, in place of a former one; shown to its owner once."""
    secret = _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()
    kept.keep(webhook.secret_name, secret, workspace=webhook.workspace)
    return secret


def read_secret(webhook: Webhook) -> str | None:
    """The secret of a webhook; None when it cannot be read."""
    try:
        return kept.read(webhook.secret_name, workspace=webhook.workspace)
    except kept.SecretUnreadable:
        return None


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows a delivery, its moment in seconds since 1970, and who sent it."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.digest(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
