"""Who said a memory, as people call them; whether that is the one who asks, and whether they ask about themselves (A5).

What a bot's model reads as «User» it takes for the words of whom it answers. So another's words carry that person's
name, or their id where no name is known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from memories.choices import ScopeKind
from memories.language import names
from memories.models import Scope

ASKER = "User"
SOMEBODY = "Somebody"
LABEL_CHARS = 60
#: What another's words count for where somebody asks about themselves: one's own come first if they match at all.
OTHERS_FACTOR = 0.25
#: What only the platform itself may call somebody in a text for a model.
_RESERVED = frozenset({"", "user", "assistant", "system", "tool", "summary", "somebody"})


class HasSender(Protocol):
    """Whatever tells who said it: an entry, or a line of the profile."""

    @property
    def sender_id(self) -> str: ...

    @property
    def speaker(self) -> str: ...


class Authorship(StrEnum):
    """Whose words something is, seen from the one who asks."""

    OWN = "own"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Sender:
    """Who said something; empty where nobody knows."""

    id: str = ""
    name: str = ""
    authorship: Authorship = Authorship.UNKNOWN
    in_chat: bool = False  # said where several people speak
    is_shared: bool = False  # somebody else here goes by the same name

    @property
    def may_be_asker(self) -> bool:
        """Whether these may be the asker's own words: in a person's memory they are, unless it is known better."""
        return self.authorship == Authorship.OWN or (self.authorship == Authorship.UNKNOWN and not self.in_chat)

    @property
    def label(self) -> str:
        """How a model is told who said it; empty where it needs no telling."""
        if self.authorship == Authorship.OWN:
            return ASKER
        name, own_id = _plain(self.name), _plain(self.id)
        if name.casefold() in _RESERVED:
            name = ""
        if own_id.casefold() in _RESERVED:
            own_id = f"@{own_id}" if own_id else ""
        if name and own_id and self.is_shared:
            return f"{name} ({own_id})"
        return name or own_id


def sender_of(item: HasSender, scope: Scope, asker: str) -> Sender:
    """Who said a memory of this scope."""
    sender, speaker = item.sender_id, item.speaker
    if not sender and speaker in scope.sender_names:  # a fact of somebody whose name nobody knew then
        sender = speaker
    own = speaker if speaker != sender else ""
    return _sender(sender, scope.sender_names.get(sender) or own or name_in(scope, sender), scope, asker)


def sender_with_id(sender: str, scope: Scope, asker: str) -> Sender:
    """Who goes by this id in the conversations of a scope."""
    return _sender(sender, name_in(scope, sender), scope, asker)


def name_in(scope: Scope, sender: str) -> str:
    """What people call a sender: the name that came with their messages, else one they gave themselves."""
    if not sender:
        return ""
    if name := scope.sender_names.get(sender):
        return str(name)
    own = names.UNNAMED + sender
    aliases = (alias for alias, who in scope.nicknames.items() if who == own)
    shortest = min(aliases, key=lambda alias: (len(alias), alias), default="")
    return shortest.title() if shortest.isascii() else shortest


def _sender(sender: str, name: str, scope: Scope, asker: str) -> Sender:
    in_chat = scope.kind == ScopeKind.CHAT
    authorship = (_authorship_in_chat if in_chat else _authorship_in_person)(sender, name, scope, asker)
    folded = names.fold(name)
    others = (other for other, called in scope.sender_names.items() if other != sender and names.fold(called) == folded)
    return Sender(sender, name, authorship, in_chat, is_shared=bool(name) and any(True for _ in others))


def _authorship_in_chat(sender: str, name: str, scope: Scope, asker: str) -> Authorship:
    """In a chat several people speak: without a sender it is nobody's in particular."""
    if sender:
        return Authorship.OWN if sender == asker else Authorship.OTHER
    if not name:
        return Authorship.UNKNOWN
    own = {names.fold(asker), names.fold(name_in(scope, asker))} - {""}
    return Authorship.OWN if names.fold(name) in own else Authorship.OTHER


def _authorship_in_person(sender: str, name: str, scope: Scope, asker: str) -> Authorship:
    """A person's memory is that person's, by whichever id they write, unless two names speak in it.

    So it is where a conversation of several was imported into one scope, and where one bot has one memory for all.
    """
    if not name or (sender and sender == asker):
        return Authorship.OWN
    own = names.fold(name_in(scope, asker))
    if own:
        return Authorship.OWN if names.fold(name) == own else Authorship.OTHER
    return Authorship.UNKNOWN if not sender and len(scope.speakers) > 1 else Authorship.OWN


def _plain(name: str) -> str:
    """A name on one line, without what would end a label or begin another line."""
    return " ".join(name.replace(":", " ").replace("：", " ").split())[:LABEL_CHARS]


LOOK_CHARS = 2_000  # of a long message its end, where people ask

_ENGLISH = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
#: 我们 and 咱们 are more than the one who asks, and so is who speaks for a company or a country.
_CHINESE = re.compile(r"(?:我|俺|咱|吾|本人|人家|自己)(?![们們国國司党黨军軍厂廠方])")
#: Asking to be told, and not about oneself. What follows may be about oneself all the same.
_ENGLISH_FRAMES = re.compile(
    r"(?:^|[.,!?;:]|\b(?:please|you|and|to|just))\s*"
    r"(?:tell|remind|give|show|send|help|let|teach|find|get|read|list|excuse|allow)\s+me\b"
    r"|\bfor me\b"
    r"|\bi\s*(?:just|really|still|also)?\s*(?:want|need|would like|['’]d like|wanted|have|am trying|['’]m trying)"
    r"\s+to\s+(?:know|ask|check|see|find|confirm|understand|look|learn|figure|make sure)\b"
    r"|\bi\s*(?:just|really|have|['’]ve)?\s*(?:forgot|forget|forgotten|wonder|guess|think|believe|suppose|hope|see"
    r"|mean|am asking|['’]m asking|am wondering|['’]m wondering|was wondering|am looking for|['’]m looking for)\b"
    r"|\bi\s+(?:don['’]?t|do not|can['’]?t|cannot|can not|no longer)\s+(?:remember|recall|know|find|see|think)\b"
    r"|\bdo i\s+(?:know|remember)\b|\bif i\s+(?:remember|recall)\b",
    re.IGNORECASE,
)
#: «How do I», «where can I», «should I»: what anybody would do.
_ENGLISH_ANYBODY = re.compile(
    r"\b(?:how|where|when|what|which|who|whom)\s+(?:can|could|do|should|must|would|may|shall)\s+i\s+"
    r"(?:use|log|sign|connect|get|find|set|install|run|start|stop|open|reach|contact|ask|call|join|book|access|reset"
    r"|deploy|submit|report|pay|send|turn|enter|park|go|see|download|update|fix|build|test|write|read|apply|request|do)\b"
    r"|\b(?:can|could|may|should|must|shall)\s+i\b",
    re.IGNORECASE,
)
_CHINESE_FRAMES = re.compile(
    r"(?:告诉|告訴|提醒|帮|幫|给|給|替|教|让|讓|请|請|发|發|跟|和|对|對|为|為)一?下?我(?=[说說讲講查看找问問想列发發读讀念算写寫记記]|一下|们|們|[，,。]|$)"
    r"|(?:告诉|告訴|提醒|帮|幫|替|教|让|讓|发给|發給|发|發)我"
    r"|我(?:就|只是|还|還|也|很|真的)?(?:想|要|需要|得|来|來)(?:知道|问|問|了解|瞭解|确认|確認|查|看看|请教|請教|打听|打聽|弄清)(?:一下|下)?"
    r"|我(?:有点|有點|又|都|已经|已經)?(?:忘了|忘记了?|忘記了?|不记得|不記得|记不得|記不得|记不清|記不清|想不起来?|不知道|不清楚|记得|記得|在想|猜)"
)
_CHINESE_ANYBODY = re.compile(
    r"我(?:们)?(?:能|可以|可|应该|應該|应|應|该|該|要|得|需要)?(?:怎么|怎麼|怎样|怎樣|如何|去哪|去哪里|在哪里可以|到哪)"
    r"(?:才能|能|可以|去|来|來)?(?:用|登|连|連|申请|申請|找|联系|聯繫|设置|設置|安装|安裝|启动|啟動|打开|打開|进|進|加入|订|訂|访问|訪問|重置|部署"
    r"|提交|报|報|付|停|下载|下載|更新|修|改|装|裝|看|查|领|領|拿|做|办|辦)"
    r"|(?:怎么|怎麼|怎样|怎樣|如何|哪里|哪裡|哪儿)我?(?:能|可以|才能)我?|我(?:能|可以|应该|應該|该|該)"
)


def is_about_asker(message: str, named: Sequence[tuple[int, str]], scopes: Sequence[Scope], asker: str) -> bool:
    """Whether a message asks about whom it comes from, and names nobody else of the speakers (scope and name)."""
    if not asks_about_asker(message):
        return False
    own = {names.fold(name) for scope in scopes for name in (asker, name_in(scope, asker)) if name}
    return all(names.fold(speaker) in own for _scope, speaker in named)


def asks_about_asker(message: str) -> bool:
    """Whether the one who asks is asked about, in English or Chinese, simplified or traditional."""
    rest = names.simplify(message.strip()[-LOOK_CHARS:])
    for other_use in (_ENGLISH_FRAMES, _ENGLISH_ANYBODY, _CHINESE_FRAMES, _CHINESE_ANYBODY):
        rest = other_use.sub(" ", rest)
    return bool(_ENGLISH.search(rest) or _CHINESE.search(rest))
