"""Codes of a second factor: RFC 6238 codes of an app, each taken once, and recovery codes.

The secret is encrypted with the key of secrets. Wrong codes are counted for the account, so that several addresses
do not have more tries than one.
"""

import base64
import secrets as random
from datetime import datetime
from enum import Enum
from typing import Any

import pyotp
from django.db import transaction

from memories import secrets
from memories.staff.models import Factor, digest_of

ISSUER = "memplatform"
SECONDS = 30  # one step of the clock
LATE = 1  # steps the clock of a phone may be behind or before ours
RECOVERY_CODES = 10
_RECOVERY_BYTES = 10  # 80 bits: a hash of one cannot be tried out


class Answer(Enum):
    """What a code turned out to be."""

    RIGHT = "right"
    RECOVERY = "recovery"
    WRONG = "wrong"
    LOCKED = "locked"


def new_secret() -> str:
    """A secret for an app, as it is typed: 32 letters and digits."""
    return pyotp.random_base32()


def uri(secret: str, name: str) -> str:
    """What an app reads from a QR code."""
    return pyotp.TOTP(secret, interval=SECONDS, name=name, issuer=ISSUER).provisioning_uri()


def set_up(user: Any, secret: str, code: str, *, now: datetime) -> list[str] | None:
    """Give somebody their factor and return its recovery codes; None where the code is not one of the secret."""
    step = _step_of(secret, code, now=now)
    if step is None:
        return None
    codes = [_recovery_code() for _n in range(RECOVERY_CODES)]
    Factor.objects.create(
        user=user, sealed=secrets.seal(secret), step=step, recovery=[digest_of(code) for code in codes], created_at=now
    )
    return codes


def renew_recovery(factor: Factor) -> list[str]:
    """New recovery codes; the former ones are void."""
    codes = [_recovery_code() for _n in range(RECOVERY_CODES)]
    Factor.objects.filter(pk=factor.pk).update(recovery=[digest_of(code) for code in codes])
    return codes


def check(user: Any, code: str, *, now: datetime) -> Answer:
    """Whether a code opens; a right one is used up by it. Raises SecretUnreadable, Factor.DoesNotExist."""
    with transaction.atomic():
        factor = Factor.objects.select_for_update().get(user=user)  # two tries at once: one after the other
        if factor.is_locked(now):
            return Answer.LOCKED
        answer = _use(factor, "".join(code.split()).replace("-", ""), now=now)
        if answer is Answer.WRONG:
            factor.count_wrong(now)
            return Answer.LOCKED if factor.is_locked(now) else Answer.WRONG
        factor.wrong = 0
        factor.save(update_fields=["step", "recovery", "wrong"])
        return answer


def _use(factor: Factor, code: str, *, now: datetime) -> Answer:
    if (digest := digest_of(code.upper())) in factor.recovery:
        factor.recovery.remove(digest)
        return Answer.RECOVERY
    step = _step_of(secrets.unseal(factor.sealed), code, now=now, after=factor.step)
    if step is None:
        return Answer.WRONG
    factor.step = step
    return Answer.RIGHT


def _step_of(secret: str, code: str, *, now: datetime, after: int = 0) -> int | None:
    """The step of the clock a code is of, of those that are near and younger than `after`."""
    totp, here = pyotp.TOTP(secret, interval=SECONDS), int(now.timestamp()) // SECONDS
    near = (step for step in range(here - LATE, here + LATE + 1) if step > after)
    return next((step for step in near if random.compare_digest(totp.generate_otp(step).encode(), code.encode())), None)


def _recovery_code() -> str:
    """Sixteen letters and digits; shown in groups, and taken with or without hyphens."""
    return base64.b32encode(random.token_bytes(_RECOVERY_BYTES)).decode()
