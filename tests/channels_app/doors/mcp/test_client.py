"""The official client of MCP: tools, resources and the prompt, over real HTTP."""

from datetime import date
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from channels_app.doors.tools.registry import Form, definitions_for
from memories.choices import EntryType
from memories.entries import Edit, daily_events, remember, update
from memories.entries.daily_events import EventDraft
from memories.language.quoting import NOTICE
from memories.models import Entry, Scope, Workspace
from tests.channels_app.doors.mcp.conftest import as_client, call
from tests.conftest import NOW, make_draft, make_key

pytestmark = pytest.mark.django_db(transaction=True)
ALICE, BOB = ({"X-Memplatform-Platform": "telegram", "X-Memplatform-Sender": peer} for peer in ("alice", "bob"))


NAMES = [definition.name for definition in definitions_for(Form.MCP)]


@pytest.mark.parametrize(("language", "title"), [("en", "Search memory"), ("zh-hans", "检索记忆")])
def test_every_tool_has_a_title(mcp: str, workspace: Workspace, key: str, language: str, title: str) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    tools = as_client(mcp, key, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES
    assert tools[0].title == title and all(tool.title for tool in tools)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_model_saves_finds_forgets_and_restores(mcp: str, key: str, mode: str) -> None:
    async def talk(client: Client) -> list[Any]:
        await client.list_tools()
        saved = await client.call_tool("memory_save", {"content": "Rosa teaches me the violin."})
        where = f"{saved.structured_content['path']}:{saved.structured_content['line']}"
        found = await client.call_tool("memory_search", {"query": "who teaches me the violin?"})
        read = await client.call_tool("memory_get", {"path": where})
        gone = await client.call_tool("memory_forget", {"path": where})
        nothing = await client.call_tool("memory_recall", {"message": "who teaches me the violin?"})
        back = await client.call_tool("memory_restore", {"path": gone.structured_content["path"]})
        again = await client.call_tool("memory_recall", {"message": "who teaches me the violin?"})
        context = await client.call_tool("memory_context", {"message": "who teaches me the violin?"})
        return [saved, found, read, gone, nothing, back, again, context]

    answers = as_client(mcp, key, talk, mode=mode)
    assert not any(answer.is_error for answer in answers)
    saved, found, read, gone, nothing, back, again, context = [answer.content[0].text for answer in answers]
    assert saved == "Saved: [MEMORY.md:1]." or saved.startswith("Saved: [memory/")
    assert all("Rosa" in text for text in (found, read, gone, back, again, context))
    assert "can be restored" in gone and "do not guess" in nothing
    assert answers[1].structured_content["results"][0]["snippet"] == "Rosa teaches me the violin."


@pytest.mark.thorough
def test_what_a_model_got_wrong_is_an_answer_it_can_act_on(mcp: str, key: str) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("memory_search", {"q": "violin"}, "q: Unknown field."),
        ("memory_get", {"path": "../secret"}, "path: "),
        ("memory_recall", {}, "message: "),
        ("memory_recall", {"message": "violin", "scope": "telegram:direct_bob"}, "scope: "),
        ("memory_context", {"message": "violin", "address": {"platform": "telegram", "peer": "bob"}}, "address: "),
        ("memory_forget", {"path": "memory/2026-03-01.md:1"}, "memory_search"),
        ("memory_delete", {}, f"The tools are: {', '.join(NAMES)}."),
    ]

    async def talk(client: Client) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments, _words in wrong]

    for answer, (_name, _arguments, words) in zip(as_client(mcp, key, talk), wrong, strict=True):
        assert answer.is_error and words in answer.content[0].text
        assert answer.structured_content["errors"][0]["detail"]


@pytest.mark.thorough
def test_whose_memory_it_is_the_configuration_says(mcp: str, workspace: Workspace, key: str) -> None:
    call(mcp, key, "memory_save", at=ALICE, content="The boat is blue.")
    assert "blue" in call(mcp, key, "memory_search", at=ALICE, query="the boat").content[0].text
    bound = make_key(workspace, name="bound", scope_patterns=["telegram:direct_bob"])
    stranger = make_key(Workspace.objects.create(name="Charlie's"))
    for token, at in ((key, BOB), (key, {}), (bound, BOB), (stranger, ALICE)):
        assert "blue" not in call(mcp, token, "memory_search", at=at, query="the boat").content[0].text
    assert call(mcp, bound, "memory_search", at=ALICE, query="the boat").is_error
    reader = make_key(workspace, name="reader", permissions=["read"])
    assert call(mcp, reader, "memory_save", at=ALICE, content="The boat is red.").is_error
    assert Entry.objects.filter(content__contains="red").count() == 0


@pytest.mark.thorough
def test_profile_notes_and_days_are_resources(mcp: str, workspace: Workspace, key: str) -> None:
    saved = call(mcp, key, "memory_save", at=ALICE, content="The boat is blue.", target="long-term")
    scope = Scope.objects.get()
    remember(make_draft(scope, "Alice is a luthier", type=EntryType.FACT, tier=1), now=NOW, actor="test")
    day = EventDraft(scope=scope, local_date=date(2026, 2, 27), content="The violin was repaired")
    daily_events.write([day], now=NOW, actor="test")

    async def talk(client: Client) -> dict[str, str]:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        note = f"memory://notes/{saved.structured_content['path']}"
        uris += [note, "memory://days/2026-02-27", "memory://days/2026-02-28"]
        data = {uri: (await client.read_resource(uri)).contents[0].text for uri in uris}
        with pytest.raises(MCPError):
            await client.read_resource(note.replace("alice", "bob"))
        (prompt,) = (await client.list_prompts()).prompts
        return {**data, "prompt": (await client.get_prompt(prompt.name)).messages[0].content.text}

    profile, notes, days, note, day_told, other_day, prompt = as_client(mcp, key, talk, at=ALICE).values()
    text = f"{NOTICE['en']}\n\n"
    assert profile == f"{text}- Alice is a luthier" and profile in prompt and "memory_search" in prompt
    assert notes.startswith(text) and notes.endswith(".md\n- The boat is blue.") and note == "- The boat is blue."
    assert days == day_told == f"{text}# 2026-02-27\n- The violin was repaired"
    assert other_day == "Nothing is remembered here yet."


@pytest.mark.thorough
def test_a_group_reads_its_own_notes_and_days_and_no_credential(mcp: str, key: str) -> None:
    group = {**ALICE, "X-Memplatform-Chat": "g1", "X-Memplatform-Group": "yes"}
    call(mcp, key, "memory_save", at=ALICE, content="Alice is afraid of boats.")
    call(mcp, key, "memory_save", at=group, content="We meet on Thursdays.")
    scope = Scope.objects.get(kind="chat")
    secret = "The password of the router is hunter2"
    kept = remember(make_draft(scope, secret), now=NOW, actor="test").entry
    update(kept, Edit(columns={"category": "credential"}), now=NOW, actor="user:ann")  # recognised afterwards
    days = [
        EventDraft(scope=scope, local_date=date(2026, 2, day), content=content)
        for day, content in ((26, secret), (27, "A"))
    ]
    daily_events.write(days, now=NOW, actor="test")

    async def talk(client: Client) -> list[str]:
        return [(await client.read_resource(f"memory://{name}")).contents[0].text for name in ("notes", "days")]

    notes, events = as_client(mcp, key, talk, at=group)
    assert "Thursdays" in notes and "Alice" not in notes and events.endswith("\n\n# 2026-02-27\n- A")


def test_a_chinese_workspace_is_told_in_chinese(mcp: str, workspace: Workspace, key: str) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")

    async def talk(client: Client) -> list[str]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("memory_recall", {})
        prompt = await client.get_prompt("what_do_you_know_about_me")
        return [tools["memory_forget"].description, refused.content[0].text, prompt.messages[0].content.text]

    forget, refused, prompt = as_client(mcp, key, talk)
    assert "停用" in forget and "必填" in refused and "这里还没有任何记忆" in prompt
