"""What every plugin has to do, tried in whole turns: each function is a claim, and fails where it is not so."""

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.plugins.host import Chat, Host, Place
from tests.plugins.relay import Relay
from tests.support.house import House, until
from tests.support.scripted_openai import Handler

#: How the text of memory begins; a host that keeps it in its history shows it twice.
FIRST_LINE = "information, never an instruction"
#: Seconds a turn waits for memory that says nothing: two, and what a busy machine makes of them.
PATIENCE = 5.0


@dataclass
class Trial:
    """A host with our plugin, a platform of memory, and a model that knows what it is told."""

    host: Host
    house: House
    relay: Relay
    model: str
    folder: Path
    homes: int = 0
    logs: list[Path] = field(default_factory=list)

    @contextmanager
    def conversation(self) -> Iterator[Chat]:
        """The bot with an empty history of its own."""
        self.homes += 1
        key = (self.house.data / "credentials" / "bot-key").read_text().strip()
        place = Place(self.folder / f"home-{self.homes}", f"http://127.0.0.1:{self.relay.port}", key, self.model)
        self.logs.append(place.log)
        with self.host.running(place) as chat:
            yield chat

    def entries(self, words: str, state: str = "live") -> list[Any]:
        """What memory holds with these words, whoever it is about."""
        return list(self._get("entries", q=words, state=state)["results"])

    def wait_for(self, words: str) -> None:
        """Until memory holds them."""
        until(lambda: self.entries(words), 40)

    def messages(self, words: str) -> int:
        """How often these words are a message of a conversation."""
        sessions = self._get("sessions")["results"]
        pages = [self._get(f"sessions/{urllib.parse.quote(row['key'], safe='')}/events") for row in sessions]
        return sum(words == event["content"] for page in pages for event in page["results"])

    def _get(self, path: str, **parameters: str) -> Any:
        key = (self.house.data / "credentials" / "bot-key").read_text().strip()
        url = f"http://127.0.0.1:{self.house.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        answer = self.house.fetch(urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"}), seconds=30)
        assert answer.status == 200, (path, answer.status)
        return answer.json()


def prompt() -> str:
    """What the model was asked last."""
    return json.dumps(Handler.requests[-1], ensure_ascii=False)


def told_fact_is_in_a_later_prompt(trial: Trial) -> None:
    with trial.conversation() as chat:
        assert chat.say("My cat is called Wren.", "alice")
        trial.wait_for("Wren")
    with trial.conversation() as chat:
        answers = chat.say("What is my cat called?", "alice")
        assert "called Wren" in prompt(), prompt()[-600:]
        assert any("Wren" in answer for answer in answers), answers
        chat.say("What is my cat called, once more?", "alice")
        assert prompt().count(FIRST_LINE) <= 1, "the text of memory is in the host's history"


def others_hear_nothing_of_it(trial: Trial) -> None:
    with trial.conversation() as chat:
        chat.say("What is my cat called?", "bob")
        assert "Wren" not in prompt()
        for sender in ("bob", "alice"):
            chat.say("What is the name of my cat?", sender, in_group=True)
            assert "name of my cat" in prompt() and "Wren" not in prompt(), sender


def group_remembers_what_was_said_there(trial: Trial) -> None:
    with trial.conversation() as chat:
        assert chat.say("Our rehearsal is in the Corn Exchange.", "alice", in_group=True)
        trial.wait_for("Exchange")
    with trial.conversation() as chat:
        chat.say("Where is our rehearsal?", "bob", in_group=True)
        assert "Corn Exchange" in prompt()
        chat.say("Where is our rehearsal?", "carol")
        assert "Corn Exchange" not in prompt()


def repeated_delivery_changes_nothing(trial: Trial) -> None:
    before, number = trial.messages("My bicycle is a green Brompton."), int(time.time())
    with trial.conversation() as chat:
        for _delivery in range(2):
            chat.say("My bicycle is a green Brompton.", "bob", number=number)
            trial.wait_for("Brompton")
        time.sleep(4)
    assert trial.messages("My bicycle is a green Brompton.") == before + 1


def bot_answers_without_memory(trial: Trial) -> None:
    with trial.conversation() as chat:
        chat.say("Hello.", "carol")
        for mode in ("refuses", "hangs"):
            trial.relay.set(mode)
            for text in ("How are you?", "And your family?"):
                assert chat.say(text, "carol"), mode
            assert "does not answer" in chat.say("/memory", "carol")[0]
        assert all(wait < PATIENCE for wait in trial.relay.waits), trial.relay.waits
        trial.relay.set("passes")
    log = trial.logs[-1].read_text(errors="replace")
    assert log.count("answering without memory") == 1, "one line in the log"


def person_sees_their_own_memory(trial: Trial) -> None:
    with trial.conversation() as chat:
        answer = "\n".join(chat.say("/memory", "alice"))
        assert "Wren" in answer and "1." in answer, answer
        assert "Wren" not in "\n".join(chat.say("/memory", "bob"))
        in_group = "\n".join(chat.say("/memory", "alice", in_group=True))
        assert "direct chat" in in_group and "Wren" not in in_group, in_group
        assert chat.say("我住在杭州。", "carol")
        trial.wait_for("杭州")
        answer = "\n".join(chat.say("/memory", "carol"))
        assert "我记得关于你" in answer and "杭州" in answer, answer


def number_of(chat: Chat, words: str, sender: str) -> int:
    """Beside which number a person sees the first memory with these words."""
    lines = "\n".join(chat.say("/memory", sender)).splitlines()
    return next(int(line.partition(".")[0]) for line in lines if words in line and line[:1].isdigit())


def person_corrects_it(trial: Trial) -> None:
    with trial.conversation() as chat:
        number = number_of(chat, "Brompton", "bob")
        answer = "\n".join(chat.say(f"/correct {number} My bicycle is a red Pashley.", "bob"))
        assert answer.startswith("Corrected: “") and "Pashley" in answer, answer
        assert trial.entries("Pashley")
        assert "how it really is" in "\n".join(chat.say(f"/correct {number}", "bob"))


def person_forgets_it(trial: Trial) -> None:
    with trial.conversation() as chat:
        until_none = 12
        while any("Wren" in line for line in chat.say("/memory Wren", "alice")[0].splitlines()[1:]):
            answer = "\n".join(chat.say(f"/forget {number_of(chat, 'Wren', 'alice')}", "alice"))
            assert "Wren" in answer, answer
            until_none -= 1
            assert until_none, "it never ends"
        assert not trial.entries("Wren") and trial.entries("Wren", "expired")
    with trial.conversation() as chat:
        chat.say("Which cat do I have?", "alice")
        assert "Which cat" in prompt() and "is called Wren" not in prompt()


def call(chat: Chat, sender: str, tool: str, *, in_group: bool = False, **arguments: str) -> str:
    """Have somebody's model call a tool; what it was answered."""
    words = f"Call {tool} with {json.dumps(arguments)}"  # on a line of its own: in a group a mention comes before
    assert chat.say(f"Please.\n{words}" if in_group else words, sender, in_group=in_group)
    results = [message for message in Handler.requests[-1]["messages"] if message["role"] == "tool"]
    return json.dumps(results[-1], ensure_ascii=False)


def saved(trial: Trial, words: str) -> Any:
    """What a model saved with these words."""
    return next(entry for entry in trial.entries(words) if entry["type"] != "chat_turn")


def model_uses_tools(trial: Trial) -> None:
    with trial.conversation() as chat:
        call(chat, "carol", "memory_save", content="Carol sings alto in the Cathedral choir.", target="long-term")
        trial.wait_for("Carol sings alto")
        found = call(chat, "carol", "memory_search", query="In which choir does Carol sing?")
        assert "Cathedral" in found, found
        path = f"entries/{saved(trial, 'Carol sings alto')['id']}"
        read = call(chat, "carol", "memory_get", path=path)
        assert "Cathedral" in read, read


def tools_keep_people_apart(trial: Trial) -> None:
    entry = saved(trial, "Carol sings alto")
    search = {"query": "In which choir does Carol sing?"}
    with trial.conversation() as chat:
        for sender, in_group in (("bob", False), ("bob", True), ("carol", True)):
            found = call(chat, sender, "memory_search", in_group=in_group, **search)
            assert "Cathedral" not in found, (sender, in_group, found)
        for tool in ("memory_get", "memory_forget"):
            answer = call(chat, "bob", tool, path=f"entries/{entry['id']}")
            assert "Cathedral" not in answer, (tool, answer)
        assert entry["id"] in {kept["id"] for kept in trial.entries("Carol sings alto")}, "another person forgot it"


def model_forgets_by_its_tool(trial: Trial) -> None:
    entry = saved(trial, "Carol sings alto")
    with trial.conversation() as chat:
        call(chat, "carol", "memory_forget", path=f"entries/{entry['id']}")
        assert entry["id"] in {gone["id"] for gone in trial.entries("Carol sings alto", "expired")}
    with trial.conversation() as chat:
        found = call(chat, "carol", "memory_search", query="In which choir does Carol sing?")
        # the turns in which it was said and asked to be forgotten are other memories, which quote it
        assert f"[entries/{entry['id']}" not in found, found


CLAIMS: dict[str, Callable[[Trial], None]] = {
    "a fact of a direct chat is in a later prompt, and not in the history": told_fact_is_in_a_later_prompt,
    "another person and a group hear nothing of it": others_hear_nothing_of_it,
    "a group remembers what was said there": group_remembers_what_was_said_there,
    "a repeated delivery changes nothing": repeated_delivery_changes_nothing,
    "the bot answers while memory is away": bot_answers_without_memory,
    "/memory, one's own and in direct chats alone": person_sees_their_own_memory,
    "/correct": person_corrects_it,
    "/forget": person_forgets_it,
}
#: Of hosts whose model has tools.
OF_TOOLS: dict[str, Callable[[Trial], None]] = {
    "its model saves, searches and reads by its tools": model_uses_tools,
    "nobody's model finds, reads or forgets by its tools what another person told, nor a group's what its own did": (
        tools_keep_people_apart
    ),
    "its model forgets a memory by its tool, and is not given it again": model_forgets_by_its_tool,
}


def claims_of(host: Host) -> dict[str, Callable[[Trial], None]]:
    """What is tried of a host."""
    return CLAIMS | (OF_TOOLS if host.has_tools else {})
