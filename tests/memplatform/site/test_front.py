"""The bare address says that the platform runs here and leads on."""

from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client

from memplatform.operations import health

pytestmark = pytest.mark.django_db


def test_the_bare_address_names_the_product_and_leads_to_admin_api_and_health() -> None:
    body = Client().get("/").content.decode()
    assert "memplatform" in body
    for address in ("/admin/", "/api/docs", "/readyz"):
        assert f'href="{address}"' in body


def test_it_speaks_the_reader_s_language() -> None:
    page = Client().get("/", headers={"Accept-Language": "zh-CN"})
    assert '<html lang="zh-hans">' in page.content.decode()
    assert "聊天机器人" in page.content.decode()


def test_it_says_when_the_platform_cannot_answer_yet() -> None:
    with patch.object(health, "has_pending_migrations", side_effect=OperationalError):
        page = Client().get("/")
    assert page.status_code == 503
    assert "Not ready to answer yet." in page.content.decode()


def test_it_is_only_to_be_read() -> None:
    assert Client().post("/").status_code == 405


def test_it_asks_no_other_host_and_runs_no_script() -> None:
    body = Client().get("/").content.decode()
    assert "<script" not in body
    assert "style=" not in body
    assert not [part for part in body.split('"') if part.startswith(("http", "//")) and "/api/v1/" not in part]
