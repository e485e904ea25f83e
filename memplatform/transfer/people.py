"""People in an export: each with their identities and consents, in one record."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from channels_app.models import Consent, Identity, Person
from memplatform.transfer.records import CONSENT, IDENTITY, KINDS


def tell(page: Sequence[Person]) -> Iterator[dict[str, Any]]:
    """The records of people."""
    parts: defaultdict[str, defaultdict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in Identity.objects.filter(person__in=page).order_by("platform", "peer"):
        parts["identities"][one.person_id].append(IDENTITY.told(one))
    for consent in Consent.objects.filter(person__in=page).order_by("at", "pk"):
        parts["consents"][consent.person_id].append(CONSENT.told(consent))
    for person in page:
        hanging = {name: parts[name][person.pk] for name in ("identities", "consents")}
        yield {"record": "person", **KINDS["person"].told(person), **hanging}
