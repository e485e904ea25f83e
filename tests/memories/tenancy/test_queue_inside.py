"""A request that queues work goes on inside its wall."""

import pytest
from django.db import connection
from django_q.tasks import async_task

from memories.models import Workspace
from memories.tenancy import row_level_security

pytestmark = pytest.mark.django_db(transaction=True)


def test_queueing_work_does_not_leave_the_wall(workspace: Workspace) -> None:
    """django-q closes what it takes for an old connection, and with it what this request may see."""
    row_level_security.enter([workspace.pk])
    try:
        connection.close_at = 0.0  # as in a web process, whose connections go back to their pool
        async_task("memplatform.tasks.pulse")
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('memplatform.workspaces', true)")
            assert cursor.fetchone() == (f"{{{workspace.pk}}}",)
    finally:
        row_level_security.leave()
