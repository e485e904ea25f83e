"""The queue of tasks, for those who are in the middle of a request."""

from typing import Any

from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from memories.tenancy import row_level_security


class Broker(ORM):  # type: ignore[misc]
    """Queues over the request's own connection: closed, as django-q would have it, it takes the wall along."""

    @staticmethod
    def get_connection(list_key: str | None = None) -> Any:
        return OrmQ.objects.using(Conf.ORM) if row_level_security.is_inside() else ORM.get_connection(list_key)
