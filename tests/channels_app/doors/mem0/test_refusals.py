"""What mem0's client is told where something is missing: a key, a switch, a call, an option."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests import ROOT
from tests.channels_app.doors.mem0.test_memories import add

PAGE = ROOT / "docs" / "howto" / "use-mem0s-client.md"
#: Calls that nothing here answers.
MISSING: list[Callable[[Any], Any]] = [
    lambda mem0: mem0.get_summary({"user_id": "alice"}),
    lambda mem0: mem0.get_profile("alice"),
    lambda mem0: mem0.generate_profile("alice"),
    lambda mem0: mem0.get_profile_settings(),
    lambda mem0: mem0.update_profile_settings(enabled=True),
    lambda mem0: mem0.sample_profiles(),
    lambda mem0: mem0.get_profile_job("1"),
    lambda mem0: mem0.update_project(custom_instructions="x"),
    lambda mem0: mem0.project.create("x"),
    lambda mem0: mem0.project.update(custom_instructions="x"),
    lambda mem0: mem0.project.delete(),
    lambda mem0: mem0.project.get_members(),
    lambda mem0: mem0.project.add_member("a@example.org"),
    lambda mem0: mem0.project.update_member("a@example.org", "OWNER"),
    lambda mem0: mem0.project.remove_member("a@example.org"),
    lambda mem0: mem0.create_webhook("https://example.org", "x", "1", ["memory_categorize"]),
    # and options
    lambda mem0: mem0.add("x", user_id="alice", custom_instructions="Only food."),
    lambda mem0: mem0.add("x", user_id="alice", expiration_date="2190-01-01"),
    lambda mem0: mem0.add([{"role": "user", "content": [{"type": "image_url"}]}], user_id="alice"),
    lambda mem0: mem0.search("x", filters={"user_id": "alice"}, show_expired=True),
    lambda mem0: mem0.search("x", filters={"user_id": "alice"}, reference_date="2024-01-01"),
]


@pytest.mark.django_db
def test_a_call_nothing_answers_says_so(mem0: Any, package: Any, caplog: Any) -> None:
    for call in MISSING:
        with pytest.raises(package.exceptions.MemoryError) as refused:
            call(mem0)
        assert refused.value.error_code == "HTTP_501"
        assert refused.value.details["errors"][0]["code"] == "not_supported"
        assert refused.value.message == refused.value.details["errors"][0]["detail"]
    assert "alice" not in "".join(record.getMessage() for record in caplog.records if "mem0" not in record.name)


@pytest.mark.django_db
def test_what_is_wrong_is_said_in_words(mem0: Any, package: Any) -> None:
    uid = add(mem0, "I like tea", user_id="alice")
    for call, message in (
        (lambda: mem0.add("x"), "user_id"),
        (lambda: mem0.add("x", user_id="a" * 201), "user_id"),
        (lambda: mem0.add("x", agent_id="a" * 150, run_id="b" * 150), "too long"),
        (lambda: mem0.delete_all(user_id="alice", colour="red"), "colour"),
        (lambda: mem0.add("", user_id="alice", infer=False), "empty"),
        (lambda: mem0.add("x", user_id="alice", infer=False, expiration_date="2020-01-01"), "past"),
        (lambda: mem0.search("x", filters={"user_id": "alice"}, top_k=0), "top_k"),
        (lambda: mem0.update(uid, text=""), "text"),
    ):
        with pytest.raises(package.exceptions.ValidationError, match=message):
            call()


@pytest.mark.django_db
def test_an_unknown_key_and_a_door_that_is_off_are_refused(mem0: Any, client: Any, package: Any, settings: Any) -> None:
    with pytest.raises(ValueError, match="This key is not known"):
        client("mp_unknown")
    settings.MEMORY_MEM0_API = False
    with pytest.raises(package.exceptions.MemoryNotFoundError):
        mem0.users()
    with pytest.raises(package.exceptions.MemoryNotFoundError):
        mem0.project.get()


def test_every_method_of_the_client_stands_on_the_page(package: Any) -> None:
    listed = set(re.findall(r"^\| `([\w.]+)", PAGE.read_text(), re.MULTILINE))
    public = {name for name in dir(package.MemoryClient) if not name.startswith("_")}
    project = {f"project.{name}" for name in dir(package.client.project.Project) if not name.startswith("_")}
    assert listed >= public | project and public == {n for n in dir(package.AsyncMemoryClient) if not n.startswith("_")}
