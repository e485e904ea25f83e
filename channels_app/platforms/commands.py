"""What people may ask of their memory in the chat itself: see it, ask where it is from, correct it, have it forgotten.

Always their own, always for them alone, also when it is typed in a group.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from channels_app import addresses
from channels_app.models import Connection, Contact, IncomingMessage, MessageKind, MessageState
from channels_app.people import linking
from channels_app.people.peers import Peer, with_linked
from channels_app.platforms.answering import Written, send
from channels_app.platforms.notices import (
    BACK,
    CORRECTED,
    FORGOTTEN,
    REPLACED,
    RUN,
    announce,
    note,
    plain_words,
    shown_words,
    undo_last,
)
from channels_app.platforms.wire import Button
from channels_app.turns import save
from memories import batches, entries
from memories.batches import PlanRow, bulk_actions
from memories.batches.steps import EditStep
from memories.choices import DmScope, EntryType, Origin, Source
from memories.entries import Edit
from memories.entries.evidence import evidence_of
from memories.exceptions import InvalidDraft, PlatformError
from memories.language.confidential import mask
from memories.language.text import smart_truncate, words
from memories.models import Batch, Entry, Policy
from memories.models.change import acting
from memories.models.state import LIVE, State, state_of
from memories.tenancy.access import Caller
from memories.visibility import trace_for, visible_entries
from sessions_app import conversations

#: A command and its names; what comes after is its argument.
NAMES = {
    "memory": ("memory", "memories", "记忆", "我的记忆"),
    "correct": ("correct", "更正", "改正"),
    "forget": ("forget", "忘记", "忘掉"),
    "export": ("export", "导出"),
    "why": ("why", "为什么"),
    "privacy": ("privacy", "隐私"),
    "undo": ("undo", "撤销"),
    "link": ("link", "关联", "绑定"),
    "unlink": ("unlink", "取消关联", "解绑"),
    "help": ("help", "start", "帮助", "开始"),
}
_BY_NAME = {name: command for command, names in NAMES.items() for name in names}
_COMMAND = re.compile(r"/(\w{1,20})(?:\s+|$)(.*)", re.DOTALL)  # one with another bot's @name is not ours
#: Corrections as people say them.
_WRONG = re.compile(
    r"(?:(?:no,? )?that'?s (?:wrong|not right|incorrect)|不对|不是这样|记错了|你记错了)\s*[:：,，]\s*(.+)",
    re.DOTALL | re.IGNORECASE,
)
_EVERYTHING = frozenset({"everything", "all", "全部", "所有", "一切"})
_YES = frozenset({"yes", "yes, everything", "yes everything", "是", "是的", "确定", "确认"})
_ASKED_FOR, _LINKED_WITHIN = timedelta(minutes=5), timedelta(minutes=10)
_READ_WITHIN = timedelta(hours=1)  # what waited longer for its answer is asked for once more
_LISTED, _CHARS = 30, 300
#: Of the memories of a person what they are shown first; turns of the conversation are counted.
_SHOWN = (EntryType.FACT, EntryType.USER_EXPLICIT, EntryType.NOTE)
_PRIVACY = gettext_lazy(
    "I remember what you write to me and what you say about yourself, so that I can answer better. In groups I use"
    " what was said in that group. You see it with /memory, correct it with /correct, and have it forgotten with"
    " /forget; /export gives you all of it. Whoever runs this bot can read it, put it right and erase it for good."
)
_HELP = gettext_lazy(
    "Write to me as to anybody. Of what I remember:\n"
    "/memory: what I know about you\n/memory 1: where that is from\n"
    "/correct 1 …: how it really is\n/forget 1, /forget everything\n/why: what my last answer rested on\n"
    "/export: all of it\n/link: the same memory from another account; /unlink: apart again\n"
    "/privacy: who sees it\n/reset: a new conversation"
)


@dataclass(frozen=True)
class Command:
    """A command and what it is about."""

    name: str
    argument: str = ""


def read(text: str) -> Command | None:
    """The command a message is; None: it is none of ours."""
    if match := _COMMAND.fullmatch(text.strip()):
        name = _BY_NAME.get(match[1].lower())
        return Command(name, match[2].strip()) if name else None
    if match := _WRONG.fullmatch(text.strip()):
        return Command("wrong", match[1].strip())
    if text.strip().lower().rstrip(".!。！") in _YES:
        return Command("yes")
    return None


def asked(message: Written, now: datetime) -> Command | None:
    """The command somebody gives: one by its name, or plain words that are meant for the bot."""
    command = read(message.incoming.text)
    if command is None or not (message.incoming.is_for_bot or message.incoming.text.startswith("/")):
        return None
    if command.name != "yes":
        return command
    # Whether they were asked a moment ago whether everything is to be forgotten, and wrote nothing else since
    theirs = {"connection": message.connection, "peer": message.incoming.peer}
    contact = Contact.objects.filter(**theirs).first()
    if not (contact and contact.asked_to_forget_at and now - contact.asked_to_forget_at <= _ASKED_FOR):
        return None
    rows = IncomingMessage.objects.filter(**theirs, kind=MessageKind.MESSAGE, received_at__gt=now - _READ_WITHIN)
    read_rows = rows.exclude(state=MessageState.WAITING)
    last = read_rows.order_by("-received_at", "-sent_at", "-sequence", "-pk").first()
    before = read(last.body.get("text", "")) if last else None
    is_asked = before is not None and before.name == "forget" and before.argument.lower() in _EVERYTHING
    return command if is_asked else None


def write_to_me_first(peer: str, connection: Connection) -> str:
    """What a group is told where its member cannot be answered alone."""
    contact = Contact.objects.filter(connection=connection, peer=peer).first()
    with translation.override((contact.language if contact else "") or connection.workspace.language):
        return _("That is for you alone. Write to me in a direct chat first, and ask again there.")


def no_answer() -> str:
    """What somebody is told who is not answered."""
    return _("I cannot answer at the moment. What you wrote is kept.")


def carry_out(message: Written, command: Command, *, now: datetime) -> None:
    """Do what somebody asks of their memory, and answer them alone."""
    try:
        match command.name:
            case "memory":
                _show(message, command.argument, now)
            case "correct":
                _correct_numbered(message, command.argument, now)
            case "wrong":
                _correct_last(message, command.argument, now)
            case "forget":
                _forget(message, command.argument, now)
            case "yes":
                _forget_everything(message, now)
            case "export":
                _export(message, now)
            case "why":
                _why(message, now)
            case "privacy":
                _answer(message, str(_PRIVACY), now)
            case "undo":
                undo_last(message, now=now)
            case "link":
                _answer(message, _link(message, command.argument, now), now)
            case "unlink":
                _answer(message, _unlink(message, now), now)
            case "help":
                _answer(message, str(_HELP), now)
    except InvalidDraft as refusal:
        _answer(message, str(refusal), now)


def _answer(message: Written, text: str, now: datetime, *, buttons: tuple[Button, ...] = ()) -> None:
    send(message, text, now=now, is_private=True, buttons=buttons if message.platform.has_buttons else ())


def _contact(message: Written) -> Contact:
    contact, _made = Contact.objects.get_or_create(
        connection=message.connection,
        peer=message.incoming.peer,
        defaults={"workspace_id": message.workspace.pk, "name": message.incoming.name},
    )
    return contact


def own_entries(message: Written, *, of_groups: bool) -> QuerySet[Entry]:
    """Memories in use that are somebody's own: their scope's, and what they told groups of this platform."""
    resolution = addresses.resolve_address(message.caller, message.private_address)
    in_use = visible_entries(message.caller).filter(LIVE)
    own = in_use.filter(scope__key=resolution.user_scope)
    if not of_groups:
        return own
    channel = message.connection.channel
    in_groups = in_use.filter(channel=channel.platform, sender_id=message.incoming.peer, scope__kind="chat")
    return own | in_groups


def _in_use(message: Written, now: datetime, *, of_groups: bool = False) -> list[Entry]:
    """What is served to somebody of their own, the newest first."""
    policies = Policy.objects.of(message.workspace.pk)
    rows = own_entries(message, of_groups=of_groups).select_related("scope").order_by("-created_at", "-pk")
    return [entry for entry in rows if state_of(entry, policies.end_of(entry), now) == State.LIVE]


def _show(message: Written, argument: str, now: datetime) -> None:
    if argument:
        _answer(message, _origin_of(message, _numbered(message, argument)), now)
        return
    rows = _in_use(message, now)
    facts = [entry for entry in rows if entry.type in _SHOWN]
    Contact.objects.filter(pk=_contact(message).pk).update(listed=[str(entry.uid) for entry in facts[:_LISTED]])
    lines = [_("What I know about you:")] if facts else [_("I know nothing about you yet.")]
    lines += [f"{n}. {plain_words(entry, _CHARS)}" for n, entry in enumerate(facts[:_LISTED], start=1)]
    if len(facts) > _LISTED:
        lines.append(_("… and %(n)d more: /export gives you all.") % {"n": len(facts) - _LISTED})
    if talk := len(rows) - len(facts):
        lines.append(ngettext("And %(n)d piece of our talk.", "And %(n)d pieces of our talk.", talk) % {"n": talk})
    if facts:
        lines.append(_("/memory 1 says where it is from; /correct 1 … and /forget 1 change it."))
    if linking.is_waiting(message.workspace.pk, message.writer, now=now):
        text = _(
            "Your accounts were linked or unlinked just now; their memories are on their way. Ask again in a minute."
        )
        lines = [*lines, text] if facts else [text]
    _answer(message, "\n".join(lines), now)


def _numbered(message: Written, argument: str) -> Entry:
    """The memory behind a number of the last list. Raises InvalidDraft."""
    uids, entry = _contact(message).listed, None
    number = int(argument) if argument.isdecimal() and len(argument) < 5 else 0
    if 0 < number <= len(uids):
        rows = own_entries(message, of_groups=True).filter(uid=uids[number - 1])
        entry = rows.select_related("scope").first()
    if entry is None:
        raise InvalidDraft(_("There is no number %(n)s in the last list. /memory shows it.") % {"n": argument[:20]})
    return entry


def _origin_of(message: Written, entry: Entry) -> str:
    """Where a memory is from, in words."""
    day = (
        entry.written_at.astimezone(message.workspace.zone()).strftime("%Y-%m-%d")
        if entry.written_at
        else _("some day")
    )
    where = _("in a group") if entry.chat_id and any("group" in chat for chat in entry.chats) else _("in our chat")
    lines = [shown_words(entry), _("Remembered on %(day)s, %(where)s.") % {"day": day, "where": where}]
    quotes = evidence_of([entry.pk], message.workspace.pk).get(entry.pk, [])
    lines += [
        _("You wrote: “%(words)s”") % {"words": smart_truncate(mask(quote.quote), _CHARS)} for quote in quotes[:3]
    ]
    if entry.source in (Source.MANUAL, Source.TOOL) and not quotes:
        lines.append(_("It was written down on purpose."))
    return "\n".join(lines)


def _correct_numbered(message: Written, argument: str, now: datetime) -> None:
    number, text = [*argument.split(maxsplit=1), "", ""][:2]
    entry = _numbered(message, number)
    if not text:
        raise InvalidDraft(_("/correct 1 and then how it really is."))
    _correct(message, entry, text, now)


def _correct_last(message: Written, text: str, now: datetime) -> None:
    """Correct what the last answer rested on: the one memory, or the one that says most of the same words."""
    rested_on = _last_served(message)
    own = {entry.pk for entry in own_entries(message, of_groups=True).filter(pk__in=[e.pk for e in rested_on])}
    candidates = [entry for entry in rested_on if entry.pk in own][:5]
    new_words = set(words(text))
    likeness = sorted(
        ((len(new_words & set(words(entry.content))), -n) for n, entry in enumerate(candidates)), reverse=True
    )
    is_clear = len(candidates) == 1 or (len(likeness) > 1 and likeness[0][0] > likeness[1][0])
    if candidates and is_clear:
        _correct(message, candidates[-likeness[0][1]], text, now)
        return
    if not candidates:
        new_entry = _save(message, text, now)
        announce(message.connection, message.incoming.peer, message.row.chat, [new_entry], is_asked=True, now=now)
        return
    Contact.objects.filter(pk=_contact(message).pk).update(listed=[str(entry.uid) for entry in candidates])
    lines = [_("Which of these is wrong?")]
    lines += [f"{n}. {shown_words(entry)}" for n, entry in enumerate(candidates, start=1)]
    lines.append(_("Write /correct 1 and then how it really is."))
    _answer(message, "\n".join(lines), now)


def _correct(message: Written, entry: Entry, text: str, now: datetime) -> None:
    """Give a memory other words; what was only said in a conversation goes, and what is right is written down."""
    before = shown_words(entry)
    if entry.type in _SHOWN and not entry.path:
        step = EditStep(columns={"content": text})
        run = f"{RUN}{message.row.uid}"
        with acting(message.actor):
            scope = entries.lock_scopes([entry.scope])[entry.scope_id]
            batch = batches.begin_applied(
                scope, name=step.verb, run=run, actor=message.actor, now=now, reason=CORRECTED
            )
            with acting(message.actor, batch=batch.pk, run=run):
                entries.update(entry, Edit(columns={"content": text}), now=now, actor=message.actor)
                batches.add_applied(batch, [PlanRow(step=step, entry_id=entry.pk, version=entry.version)])
    else:
        _take_out(message, [entry], now, reason=REPLACED)
        _save(message, text, now)
    note(message, {"corrected": 1}, now=now)
    _answer(message, _("Corrected: %(before)s is now “%(after)s”.") % {"before": before, "after": text}, now)


def _save(message: Written, text: str, now: datetime) -> Entry:
    result = save(
        message.caller,
        message.private_address,
        slots={"speaker": message.incoming.name} if message.incoming.name else {},
        now=now,
        type=EntryType.USER_EXPLICIT,
        content=text,
        source=Source.MANUAL,
        origin=Origin.SELF,
        at=now,
    )
    return result.entry


def _take_out(message: Written, rows: Sequence[Entry], now: datetime, *, reason: str = FORGOTTEN) -> list[Batch]:
    """Take memories out of use with their copies in groups; the batches, by which they are brought back."""
    copies = entries.copies_to_expire(rows, message.caller.may_reach)
    own = {entry.pk: entry for entry in [*rows, *copies]}
    result = bulk_actions.apply_action(
        list(own.values()), bulk_actions.EXPIRE, now=now, actor=message.actor, reason=reason
    )
    return result.batches


def _forget(message: Written, argument: str, now: datetime) -> None:
    if argument.lower() in _EVERYTHING:
        Contact.objects.filter(pk=_contact(message).pk).update(asked_to_forget_at=now)
        _answer(message, _("Shall I forget everything I know about you? Write “yes” within five minutes."), now)
        return
    if not argument:
        raise InvalidDraft(_("/forget 1, or /forget everything."))
    entry = _numbered(message, argument)
    undo_batches = _take_out(message, [entry], now)
    _say_forgotten(message, _("Forgotten: %(words)s") % {"words": shown_words(entry)}, 1, undo_batches, now)


def _forget_everything(message: Written, now: datetime) -> None:
    """Everything that is somebody's own goes out of use, and their conversation ends; an operator can bring it back."""
    Contact.objects.filter(pk=_contact(message).pk).update(asked_to_forget_at=None, listed=[])
    rows = list(own_entries(message, of_groups=True).select_related("scope"))
    undo_batches = _take_out(message, rows, now) if rows else []
    session, _resolution, _scopes = addresses.open_session(message.caller, message.private_address, now=now)
    conversations.reset(session, now=now)
    text = ngettext("%(n)d memory is forgotten.", "%(n)d memories are forgotten.", len(rows)) % {"n": len(rows)}
    _say_forgotten(message, text, len(rows), undo_batches, now)


def _say_forgotten(message: Written, text: str, count: int, undo_batches: Sequence[Batch], now: datetime) -> None:
    """Say so, with a way to undo it: a button, or what to write where there are none."""
    note(message, {"forgotten": count}, now=now)
    runs = sorted({batch.run.removeprefix(RUN) for batch in undo_batches})
    buttons = tuple(Button(label=_("Undo"), target=f"{BACK}{run}") for run in runs[:1])
    words = text if message.platform.has_buttons else f"{text}\n{_('Not right? Write /undo.')}"
    _answer(message, words, now, buttons=buttons)


def _export(message: Written, now: datetime) -> None:
    rows = _in_use(message, now, of_groups=True)
    zone = message.workspace.zone()
    lines = [f"# {_('What is remembered of you')}", ""]
    for entry in reversed(rows):
        day = entry.written_at.astimezone(zone).strftime("%Y-%m-%d") if entry.written_at else "?"
        lines.append(f"- {day} [{entry.get_type_display()}] {' '.join(mask(entry.content).split())}")
    text = "\n".join(lines)
    if message.platform.has_files:
        send(message, text, now=now, is_private=True, file_name="memory.md")
    else:
        _answer(message, text, now)


def _last_served(message: Written) -> list[Entry]:
    """What the last answer to somebody in this chat rested on, best first."""
    rows = IncomingMessage.objects.filter(chat=message.row.chat, peer=message.incoming.peer, recall__isnull=False)
    last = rows.exclude(pk=message.row.pk).order_by("-pk").first()
    return served_for(message.caller, last) if last else []


def served_for(caller: Caller, message: IncomingMessage) -> list[Entry]:
    """What the answer to a message rested on, best first."""
    trace = trace_for(caller, message.recall) if isinstance(message.recall, UUID) else None
    if trace is None:
        return []
    there = {entry.pk: entry for entry in visible_entries(caller).filter(pk__in=trace.served).select_related("scope")}
    return [there[pk] for pk in trace.served if pk in there]


def _why(message: Written, now: datetime) -> None:
    rows = _last_served(message)
    if not rows:
        _answer(message, _("My last answer rested on nothing I remember."), now)
        return
    lines = [_("My last answer could rest on:")]
    lines += [f"• {shown_words(entry)}" for entry in rows[:5]]
    _answer(message, "\n".join(lines), now)


def _link(message: Written, code: str, now: datetime) -> str:
    """Make two accounts one person's: one gives a code, the other takes it. What to say of it."""
    contact, workspace = _contact(message), message.workspace
    if message.connection.channel.dm_scope != DmScope.PER_PEER:
        return _("Whoever runs this bot keeps each account's memory apart, so there is nothing to link.")
    if not code:
        new = token_hex(5)
        Contact.objects.filter(pk=contact.pk).update(link_code=_digest(new), link_code_at=now)
        words = _("Write to me from your other account within ten minutes: /link %(code)s")
        return words % {"code": new}
    fresh = Contact.objects.filter(
        workspace_id=workspace.pk, link_code=_digest(code.strip().lower()), link_code_at__gt=now - _LINKED_WITHIN
    )
    other = fresh.exclude(pk=contact.pk).select_related("connection__channel").first()
    if other is None or other.connection.channel.dm_scope != DmScope.PER_PEER:
        return _("This code is not known, or its time is over.")
    peers = [Peer(other.connection.channel.platform, other.peer), message.writer]
    unused = Contact.objects.filter(pk=other.pk, link_code=other.link_code)
    try:
        with transaction.atomic():  # a refusal uses no code up
            if not unused.update(link_code="", link_code_at=None):
                return _("This code is not known, or its time is over.")
            linking.link(workspace, peers, actor=message.actor, now=now)
    except PlatformError as refusal:
        return str(refusal)
    linking.unite_soon()
    note(message, {"linked": 1}, now=now)
    return _("Linked: your two accounts share one memory. /unlink takes that back.")


def _unlink(message: Written, now: datetime) -> str:
    """Make an account a person of its own again: what each had, and wrote since, is theirs. What to say of it."""
    contact, workspace = _contact(message), message.workspace
    identity = linking.identity_of(workspace.pk, message.writer)
    if identity is None or not linking.is_linked(identity) or len(with_linked(workspace.pk, [message.writer])) < 2:
        return _("This account is not linked to another.")
    try:
        linking.separate(identity, actor=message.actor, now=now)
    except PlatformError as refusal:
        return str(refusal)
    linking.unite_soon()
    Contact.objects.filter(pk=contact.pk).update(listed=[], link_code="", link_code_at=None)
    note(message, {"unlinked": 1}, now=now)
    return _(
        "Unlinked: this account has a memory of its own again, within a few minutes with all it had before and what"
        " you wrote from it since."
    )


def _digest(code: str) -> str:
    return sha256(code.encode()).hexdigest()
