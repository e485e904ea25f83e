"""A page that the database cannot answer for the moment says so, and offers a way back; a fault stays a fault."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from tests.memplatform.test_versions import LATER, from_the_future

pytestmark = pytest.mark.django_db(transaction=True)
ENTRIES = "/admin/memories/entry/"


@pytest.fixture
def staff(admin_client: Client) -> Client:
    admin_client.raise_request_exception = False
    return admin_client


@pytest.fixture
def other_tables() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memories_entry RENAME content TO words")
        yield
        cursor.execute("ALTER TABLE memories_entry RENAME words TO content")
    MigrationRecorder(connection).record_unapplied("memories", LATER)


@pytest.mark.usefixtures("other_tables")
@pytest.mark.parametrize(
    ("language", "text", "again"), [("en", "being upgraded", "Try again"), ("zh-hans", "正在升级", "重试")]
)
def test_a_page_during_an_upgrade_leads_back_to_itself(staff: Client, language: str, text: str, again: str) -> None:
    from_the_future()
    answer = staff.get(f"{ENTRIES}?q=tea&o=1", headers={"Accept-Language": language})
    page = answer.content.decode()
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (503, True)
    assert text in page and again in page and f'href="{ENTRIES}?q=tea&amp;o=1"' in page


@pytest.mark.usefixtures("other_tables")
def test_what_was_sent_during_an_upgrade_is_not_sent_again_by_a_link(staff: Client) -> None:
    from_the_future()
    answer = staff.post(f"{ENTRIES}add/", {"content": "tea"})
    page = answer.content.decode()
    assert answer.status_code == 503 and "Go back, look" in page and f'href="{ENTRIES}' not in page


@pytest.mark.usefixtures("other_tables")
def test_a_fault_of_a_page_on_tables_of_this_version_stays_a_fault(staff: Client) -> None:
    assert staff.get(ENTRIES).status_code == 500


@pytest.fixture
def locked_entries() -> Iterator[None]:
    """As a migration holds them, for longer than a statement of a page may take."""
    with psycopg.connect(**connection.get_connection_params()) as other, connection.cursor() as cursor:
        other.execute("LOCK TABLE memories_entry IN ACCESS EXCLUSIVE MODE")
        cursor.execute("SET statement_timeout = 200")
        yield
        cursor.execute("RESET statement_timeout")
        other.rollback()


@pytest.mark.usefixtures("locked_entries")
def test_a_page_that_waited_too_long_for_the_database_says_so(staff: Client) -> None:
    answer = staff.get(ENTRIES)
    assert (answer.status_code, "took the database too long" in answer.content.decode()) == (503, True)
