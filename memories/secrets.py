"""Secrets: values kept encrypted, without history, and never in a log, a URL or an answer."""

import base64
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

from memories.models import Secret, Workspace
from memories.staff.models import Factor

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
    """Store a value under a name, of a workspace or of the whole platform; it replaces a former one."""
    ciphertext = _ciphers().encrypt(value.encode())
    Secret.objects.update_or_create(workspace=workspace, name=name, defaults={"ciphertext": ciphertext})


def read(name: str, *, workspace: Workspace | None = None) -> str | None:
    """The value under a name; None when there is none. Raises SecretUnreadable."""
    secret = Secret.objects.filter(workspace=workspace, name=name).first()
    return None if secret is None else _decrypt(secret)


def forget(name: str, *, workspace: Workspace | None = None) -> bool:
    """Remove a secret; whether there was one."""
    removed_count, _by_table = Secret.objects.filter(workspace=workspace, name=name).delete()
    return bool(removed_count)


def seal(value: str) -> str:
    """A value encrypted for a place outside the database, such as a file."""
    return _ciphers().encrypt(value.encode()).decode()


def unseal(sealed: str) -> str:
    """What `seal` was given. Raises SecretUnreadable."""
    try:
        return _ciphers().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable(_("of a file")) from None


def rotate() -> int:
    """Encrypt all secrets anew with the first key, so that the others can be retired; the number of secrets.

    Raises SecretUnreadable.
    """
    count = 0
    for secret in Secret.objects.order_by("pk"):
        secret.ciphertext = _ciphers().encrypt(_decrypt(secret).encode())
        secret.save(update_fields=["ciphertext", "updated_at"])
        count += 1
    for factor in Factor.objects.order_by("pk"):
        Factor.objects.filter(pk=factor.pk).update(sealed=seal(unseal(factor.sealed)))
        count += 1
    return count


def _decrypt(secret: Secret) -> str:
    try:
        return _ciphers().decrypt(bytes(secret.ciphertext)).decode()
    except InvalidToken:
        raise SecretUnreadable(secret.name) from None


def _ciphers() -> MultiFernet:
    """Encrypts with the first key, decrypts with any: the given ones, SECRET_KEY and its fallbacks."""
    keys = [*settings.SECRETS_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    # hashed with a context of its own, so that any text can be a key and reveals nothing of its other uses
    digests = [sha256(_CONTEXT + key.encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
