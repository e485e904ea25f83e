"""What other programs keep is moved in: each format by a sample shaped as its makers describe it."""

import io
import json
import os
import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.choices import ScopeKind
from memories.imports.formats import FORMATS, format_of
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from tests import ROOT
from tests.conftest import NOW, Api

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parent / "samples"
#: The sample of a format; a folder whose name ends in .zip is packed as its makers pack it.
SAMPLE = {
    "chatgpt.zip": "chatgpt",
    "claude.zip": "claude",
    "claude-code": "claude-code",
    "openclaw": "markdown",
    "letta.af": "letta",
    "letta-first-version.af": "letta",
    "langgraph.json": "langgraph",
    "memobase": "memobase",
    "memory.jsonl": "memory-graph",
    "basic-memory": "basic-memory",
    "graphiti.json": "zep",
    "hindsight.zip": "hindsight",
    "hindsight-memories.json": "hindsight",
    "supermemory.json": "supermemory",
    "supermemory-documents.json": "supermemory",
    "mem0.json": "mem0",
    "memories.csv": "csv",
}
#: Whose memories are taken of a sample that holds those of several.
WHO = {"langgraph.json": ("--who", "mia")}
PAGE = ROOT / "docs" / "reference" / "importers.md"
COLUMNS = (
    *("`--from`", "program", "sample", "rows in", "memories", "events of days", "left out, and why"),
    *("new in a second run", "shape from"),
)
HEAD = f"""# What an import brings, format by format

Made by `tests/memories/imports/test_formats.py` (`WRITE_PAGE=1` writes it anew): each sample of
`tests/memories/imports/samples/` is imported into an empty scope, imported again, and the batch is undone. Rows in are
memories and what is left out; of a turn there is an event of its day as well. The samples are shaped as the page or
file in the last column says. How to move in:
[export and import](../howto/export-and-import.md#import-from-other-programs).

| {" | ".join(COLUMNS)} |
|{"---|" * len(COLUMNS)}
"""
KEY = "telegram:direct_u42"


def sample(name: str, tmp_path: Path) -> Path:
    """A sample as a person gets it."""
    if not name.endswith(".zip"):
        return SAMPLES / name
    folder, packed = SAMPLES / name.removesuffix(".zip"), tmp_path / name
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed


def imported(path: Path, *arguments: str, into: str = KEY) -> Any:
    out = io.StringIO()
    call_command("import", str(path), "--into", into, "--now", NOW.isoformat(), "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def scope(workspace: Workspace) -> Scope:
    return Scope.objects.create(workspace=workspace, key=KEY, kind=ScopeKind.USER)


def facts(tier: int) -> set[str]:
    return set(Entry.objects.live().filter(type="fact", tier=tier).values_list("content", flat=True))


def turns() -> list[str]:
    return list(Entry.objects.live().filter(type="chat_turn").order_by("pk").values_list("content", flat=True))


def reasons(done: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for left_out in done["left_out"]:
        counts[left_out["reason"]] = counts.get(left_out["reason"], 0) + 1
    return counts


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_says_itself_what_it_is_and_a_second_run_brings_nothing(
    name: str, workspace: Workspace, tmp_path: Path, api: Api
) -> None:
    path, who = sample(name, tmp_path), WHO.get(name, ())
    if SAMPLE[name] != "markdown":
        assert format_of(path) == SAMPLE[name]
    tried = imported(path, "--dry-run", *who)
    assert not Scope.objects.filter(key=KEY).exists()
    done = imported(path, *who)
    assert Scope.objects.get(key=KEY).kind == ScopeKind.USER
    assert (tried["facts"], tried["events"]) == (done["facts"] + done["merged"], done["events"]) != (0, 0)
    again = imported(path, *who)
    assert (again["facts"], again["events"], again["batch"], again["read"]) == (0, 0, None, done["read"])
    assert again["left_out"] == done["left_out"]
    assert api.post(f"batches/{done['batch']}/undo").status_code == 201
    assert not Entry.objects.live().exists() and not DailyEvent.objects.in_use().exists()
    events = done["events"] if SAMPLE[name] == "markdown" else 0  # else beside a turn
    assert done["read"] == done["facts"] + done["merged"] + events + done["left_out_count"]
    assert os.environ.get("WRITE_PAGE") or row(name, done, again) in PAGE.read_text()


def row(name: str, done: Any, again: Any) -> str:
    """The line of the page about a sample."""
    kind = FORMATS.get(SAMPLE[name])
    title = kind.title if kind else "OpenClaw"
    source = kind.described_in if kind else "openclaw/openclaw: docs/concepts/agent-workspace.md"
    why = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(reasons(done).items()))
    left_out = f"{done['left_out_count']}: {why}" if why else "0"
    new = again["facts"] + again["events"]
    cells = [
        f"`{SAMPLE[name]}`",
        title,
        f"`{name}`",
        done["read"],
        done["facts"],
        done["events"],
        left_out,
        new,
        source,
    ]
    return f"| {' | '.join(map(str, cells))} |\n"


def test_every_format_has_a_sample_and_a_line_of_the_page(workspace: Workspace, tmp_path: Path) -> None:
    assert set(SAMPLE.values()) - {"markdown"} == set(FORMATS)
    if os.environ.get("WRITE_PAGE"):
        lines = []
        for number, name in enumerate(SAMPLE):
            path, who, into = sample(name, tmp_path), WHO.get(name, ()), f"telegram:direct_s{number}"
            lines.append(row(name, imported(path, *who, into=into), imported(path, *who, into=into)))
        PAGE.write_text(HEAD + "".join(lines))
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and "`--from`" not in line]
    assert [line.split(" | ")[2] for line in lines] == [f"`{name}`" for name in SAMPLE]


def test_nested_metadata_of_mem0_becomes_slots_and_what_does_not_fit_is_listed(scope: Scope, tmp_path: Path) -> None:
    imported(SAMPLES / "mem0.json")
    entry = Entry.objects.get(content="Likes Longjing tea")
    assert dict(entry.slots.values_list("name", "value")) == {
        "metadata.source": "chat",
        "home.city": "Porto",
        "home.rooms": "1, 2",
        "tags": "tea, morning",
    }
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps([{"memory": "Plays chess", "metadata": {"note": "x" * 501}}]))
    done = imported(path)
    assert (done["facts"], reasons(done), done["left_out"][0]["why"]) == (1, {"slot": 1}, "note")


def test_items_of_a_store_go_into_a_scope_by_a_part_of_their_namespace(scope: Scope) -> None:
    with pytest.raises(CommandError, match="memories/bob, memories/mia"):
        imported(SAMPLES / "langgraph.json")
    done = imported(SAMPLES / "langgraph.json", "--who", "mia")
    assert facts(2) == {"Mia prefers trains to planes", "name: Mia; favourite tea: Longjing", "妹妹叫小雨"}
    assert reasons(done) == {"empty": 1, "other_person": 1}


def test_what_another_service_took_out_of_use_stays_out(scope: Scope, tmp_path: Path) -> None:
    for name in ("graphiti.json", "hindsight-memories.json", "supermemory.json"):
        done = imported(SAMPLES / name)
        assert "ended" in reasons(done)
    assert not Entry.objects.filter(content__contains="Braga").exists()
    assert not Entry.objects.filter(content__contains="1,200").exists()
    assert facts(1) == {"Mia is a ceramics teacher"}
    imported(sample("hindsight.zip", tmp_path))
    assert Entry.objects.get(content__contains="Vicente").names == ["Mia", "Vicente", "Aveiro"]


def test_profiles_and_events_of_memobase_come_under_their_topics(scope: Scope) -> None:
    imported(SAMPLES / "memobase")
    assert "basic info, name: Mia" in facts(1)
    days = DailyEvent.objects.order_by("local_date").values_list("content", flat=True)
    assert list(days) == ["- User fired the first kiln of the year [mentioned on 2026/02/03]", "interest, music: Fauré"]


def test_the_zip_of_chatgpt_brings_turns_the_profile_and_the_memories_it_kept(scope: Scope, tmp_path: Path) -> None:
    done = imported(sample("chatgpt.zip", tmp_path))
    assert facts(1) == {
        "Preferred name: Mia",
        "Role: ceramics teacher in Porto",
        "Other Information: I am allergic to walnuts.",
        "Answer in metric units.",
    }
    assert facts(2) == {
        "User's kiln is a Nabertherm N 60.",
        "用户的妹妹叫小雨，住在杭州。",
        "User's studio closes on Mondays.",
    }
    kiln = Entry.objects.get(content__contains="Nabertherm")
    assert kiln.stated_at and kiln.stated_at.date().isoformat() == "2025-11-02"
    assert (
        "User: The ferry to Seixal leaves at ten past eight.\nAssistant: Then leave home at half past seven." in turns()
    )
    assert not [words for words in turns() if "regenerated" in words or "Forget this one" in words]
    assert reasons(done) == {"program": 3, "other_branch": 1, "no_words": 2, "not_wanted": 1, "other_file": 4}


def test_an_agent_of_letta_brings_its_blocks_and_what_was_said_but_not_its_persona(scope: Scope) -> None:
    done = imported(SAMPLES / "letta.af")
    assert "Occupation: ceramics teacher in Porto" in facts(1)
    assert facts(2) == {"Clay comes from Vicente in Aveiro", "Glazes come from Botz"}
    assert turns() == [
        "User: My glaze order arrives on Thursday.\nAssistant: Noted: Thursday.",
        "User: Bob fetches it, not me.\nAssistant: Then I will write to Bob.",
    ]
    assert {left["why"] for left in done["left_out"]} >= {"persona", "Last name: ?", "tools: conversation_search"}


def test_observations_and_relations_stand_for_themselves_and_are_found_by_their_names(scope: Scope) -> None:
    imported(SAMPLES / "memory.jsonl")
    assert facts(2) == {
        "John Smith: Speaks fluent Spanish",
        "John Smith: Graduated in 2019",
        "John Smith: Prefers morning meetings",
        "John Smith works at Anthropic",
        "小雨住在杭州",
    }
    assert Entry.objects.get(content__contains="Spanish").names == ["John Smith"]


def test_the_zip_of_claude_brings_what_it_kept_and_the_branch_that_was_shown(scope: Scope, tmp_path: Path) -> None:
    done = imported(sample("claude.zip", tmp_path))
    assert facts(2) == {
        "Mia teaches ceramics in Porto and runs a studio of four people.",
        "Mia sings alto in a choir. 妹妹叫小雨。",
        "The kiln log is kept in Celsius.",
        "Kiln log: Firing curves of the Nabertherm",
    }
    assert Entry.objects.get(content__contains="studio of four").heading == "Work context"
    assert Entry.objects.get(content__contains="Celsius").heading == "Kiln log › Purpose & context"
    assert turns() == [
        "User: My choir rehearses on Thursdays at seven.\nAssistant: Then Thursday evenings are taken.",
        "User: Here is the programme.\nAssistant: It is the Requiem.",
    ]
    expected = {"other_branch": 1, "program": 2, "no_words": 2, "instructions": 1, "no_memory": 1, "other_file": 1}
    assert reasons(done) == expected


def test_a_part_of_claude_s_export_is_read_alone(scope: Scope, tmp_path: Path) -> None:
    for name, count in (("memories.json", 3), ("conversations.json", 2)):
        path = tmp_path / f"my-{name}"
        path.write_bytes((SAMPLES / "claude" / name).read_bytes())
        assert imported(path, "--dry-run")["facts"] == count


def test_the_memory_folder_of_claude_code_brings_a_memory_a_file_and_not_its_index(scope: Scope) -> None:
    done = imported(SAMPLES / "claude-code")
    assert facts(1) == {"The user teaches ceramics and is new to Python."}
    assert {words.split("\n")[0] for words in facts(2)} == {
        "The deploy script needs Node 20.",
        "Integration tests run against a real database, never against mocks.",
        "The kiln log has to be ready on 2026-03-05.",
    }
    entry = Entry.objects.get(content__contains="real database")
    assert (entry.topic, entry.heading) == ("feedback", "Integration tests use a real database")
    assert "**How to apply:**" in entry.content
    assert [left["line"] for left in done["left_out"]] == [3, 4, 5]


def test_a_file_of_a_folder_whose_name_is_of_strange_bytes_is_read_too(scope: Scope, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SAMPLES / "claude-code", tmp_path / "notes"))
    Path(os.fsdecode(os.fsencode(folder) + b"/\xc4\xe3.md")).write_text("- 她养了一只猫\n")
    imported(folder, "--from", "claude-code")
    assert Entry.objects.get(content="她养了一只猫").topic == "��"


def test_notes_of_basic_memory_bring_observations_relations_and_what_else_stands_in_them(scope: Scope) -> None:
    imported(SAMPLES / "basic-memory")
    assert facts(2) == {
        "Notes of the mornings in the studio.",
        "Coffee Brewing Methods: Pour over highlights subtle flavors (tried in May)",
        "Coffee Brewing Methods: Mia drinks it black",
        "[ ] try the French press",
        "Coffee Brewing Methods relates to Coffee Bean Origins",
        "Coffee Brewing Methods requires Proper Grinding Technique",
    }
    entry = Entry.objects.get(content__contains="Pour over")
    assert (entry.topic, dict(entry.slots.values_list("name", "value"))) == ("method", {"tags": "brewing"})
    assert Entry.objects.get(content__contains="Grinding").names == [
        "Coffee Brewing Methods",
        "Proper Grinding Technique",
    ]


def test_a_folder_of_openclaw_comes_in_full(scope: Scope, tmp_path: Path) -> None:
    done = imported(SAMPLES / "openclaw")
    assert facts(1) == {
        "Preferences: tea: Longjing",
        "Preferences: no mail after six",
        "Vicente",
        "Vicente: sells clay in Aveiro",
        "Start the kiln with:",
        "```sh\nkiln start --curve 7\nkiln watch\n```",
        "妹妹叫小雨，住在杭州",
        "**Name:** Mia",
        "**What to call them:** Mia",
        "**Timezone:** Europe/Lisbon",
    }
    code = Entry.objects.get(content__contains="kiln watch")
    assert code.heading == "Mia › Studio › Start the kiln with"
    supplier = Entry.objects.get(content__contains="Botz delivers")
    assert (supplier.tier, supplier.topic, supplier.heading) == (2, "suppliers", "suppliers › Suppliers")
    days = DailyEvent.objects.order_by("local_date").values_list("local_date", "content")
    assert [str(day) for day, _content in days] == ["2026-01-30", "2026-01-31"]
    assert "14 euro a litre" in days[1][1]
    assert reasons(done) == {"instructions": 2, "empty": 4}
    again = imported(SAMPLES / "openclaw")
    assert (again["facts"], again["events"], again["batch"]) == (0, 0, None)


def test_a_file_of_no_format_is_refused_with_all_that_are_understood(scope: Scope, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"hello": "world"}')
    with pytest.raises(CommandError) as refusal:
        imported(path)
    assert all(name in str(refusal.value) for name in FORMATS)


def packed(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_json", ".json"), content)
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"mapping": {}, "author": "' + b"x" * 40_000_000 + b'"}]', "unpack to 40 MB"),
        (b'[{"mapping": {"a": {"author": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}}]", "item 1.*100"),
        (b'[{"mapping": {"a": "author", "b": {}}, "author": 1}]', "not shaped as files of ChatGPT"),
        (b'[{"mapping": {"a": {"author"', "After its item 0"),
    ],
)
def test_a_zip_that_would_fill_the_disk_or_is_broken_is_refused_and_leaves_nothing(
    scope: Scope, tmp_path: Path, content: bytes, words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        imported(packed(tmp_path / "export.zip", conversations_json=content))
    assert not Entry.objects.exists() and not Batch.objects.exists()


def test_a_zip_within_a_folder_of_its_own_is_read_and_nothing_is_unpacked(scope: Scope, tmp_path: Path) -> None:
    conversations = (SAMPLES / "chatgpt/conversations.json").read_bytes()
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("../../../escaped/conversations-000.json", conversations)
    assert imported(tmp_path / "export.zip")["facts"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export.zip"]


def test_a_day_without_a_time_is_its_noon_and_what_ends_on_it_is_there_all_day(scope: Scope) -> None:
    """At midnight in UTC it would be the day before in half the world, and over before it has begun."""
    imported(SAMPLES / "memories.csv")
    assert Entry.objects.get(content__startswith="The staging port").stated_at == datetime(2026, 1, 2, 12, tzinfo=UTC)
    imported(SAMPLES / "mem0.json")
    assert Entry.objects.get(content="妹妹叫小雨").expires_at == datetime(2027, 1, 2, tzinfo=UTC)
