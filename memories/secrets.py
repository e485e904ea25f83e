"""Values only the platform reads: kept encrypted, without history, and never in a log, an address or an answer."""

import base64
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

from memories.models import Secret, Workspace

_CONTEXT = b"memplatform.secrets.1:"


class SecretUnreadable(Exception):
    """A secret cannot be read with any of the keys: MEMPLATFORM_SECRETS_KEY or SECRET_KEY has changed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "The secret “%(name)s” cannot be read with any of the keys; add the former one to"
                " MEMPLATFORM_SECRETS_KEY, or save the secret anew."
            )
            % {"name": name}
        )


def keep(name: str, value: str, *, workspace: Workspace | None = None) -> None:
    """Keep a value under a name, of a workspace or of the whole platform; what was there is gone."""
    ciphertext = _locks().encrypt(value.encode())
    Secret.objects.update_or_create(workspace=workspace, name=name, defaults={"ciphertext": ciphertext})


def read(name: str, *, workspace: Workspace | None = None) -> str | None:
    """The value under a name; None when there is none. Raises SecretUnreadable."""
    secret = Secret.objects.filter(workspace=workspace, name=name).first()
    return None if secret is None else _open(secret)


def forget(name: str, *, workspace: Workspace | None = None) -> bool:
    """Whether there was one to forget."""
    gone, _by_table = Secret.objects.filter(workspace=workspace, name=name).delete()
    return bool(gone)


def rotate() -> int:
    """Encrypt everything anew with the first key, so that the others can be retired; how many secrets.

    Raises SecretUnreadable.
    """
    count = 0
    for secret in Secret.objects.order_by("pk"):
        secret.ciphertext = _locks().encrypt(_open(secret).encode())
        secret.save(update_fields=["ciphertext", "updated_at"])
        count += 1
    return count


def _open(secret: Secret) -> str:
    try:
        return _locks().decrypt(bytes(secret.ciphertext)).decode()
    except InvalidToken:
        raise SecretUnreadable(secret.name) from None


def _locks() -> MultiFernet:
    """The first key encrypts, all of them open: the given ones, then what follows from SECRET_KEY and its fallbacks."""
    keys = [*settings.SECRETS_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(key: str) -> bytes:
    """Any text of enough chance is a key: hashed for this one use, so that it gives away nothing of the others."""
    return base64.urlsafe_b64encode(sha256(_CONTEXT + key.encode()).digest())
