"""From an address on the wire to the channel's rules, the resolver's answer and the scopes behind it (E2).

Channels are looked up, created and their rules set here (E1). A platform nobody knows and an account in another
spelling are refused, so that no misspelling begins another memory.
"""

import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app import cards
from channels_app.models import Channel
from channels_app.people import peers
from channels_app.people.peers import channel_with_person
from memories.choices import NeedMode, PathMode, ScopeKind
from memories.conf import conf
from memories.exceptions import InvalidAddress, ScopeNotFound, VersionConflict
from memories.models import Scope
from memories.models.change import acting
from memories.notes.freshness import sync_before_search
from memories.offline import DATABASE, FILES, LeaveToFiles, journal
from memories.offline.journal import Stream
from memories.recall import Query, SearchScope
from memories.recall.query import Serve, choose_serve, read_opening
from memories.tenancy.access import Caller
from memories.tenancy.resolver import (
    ALIASES,
    PLATFORMS,
    Address,
    ChannelRules,
    Resolution,
    ScopeRef,
    key_of_direct_chat,
    platform_of_key,
    resolve,
    starts_of_keys,
)
from sessions_app import conversations
from sessions_app.models import Session
from sessions_app.visibility import visible_sessions

#: Chat and peer of the direct chat with one of these keys, of a platform and account; empty where there is none.
DirectChat = Callable[..., tuple[str, str]]
#: The linked person who speaks from an address; empty where the peer is a person of its own.
PersonOf = Callable[[Address], str]


def resolve_address(caller: Caller, address: Address) -> Resolution:
    """What an address means under the rules of its channel; reads only.

    With whom a chat is, learns only a caller who reaches that peer's memory; to others the peer is unknown.
    """
    peer = "" if address.is_group else address.peer
    platform, channel = find_channel(caller.workspace_id, address.platform, address.account, peer=peer)
    address = address if platform == address.platform else replace(address, platform=platform)
    direct_chat = partial(conversations.direct_chat, caller.workspace_id)
    return resolve_in_channel(caller, address, channel, direct_chat, partial(_person_of, caller, channel, peer))


def _person_of(caller: Caller, channel: Channel | None, peer: str, address: Address) -> str:
    """The linked person of an address; of the peer that was asked for with the channel, it was read already."""
    if channel is not None and peer and address.peer == peer:
        return getattr(channel, "person", None) or ""
    return peers.person_of(caller.workspace_id, address)


def resolve_in_channel(
    caller: Caller, address: Address, channel: Channel | None, direct_chat: DirectChat, person_of: PersonOf
) -> Resolution:
    """The same in a channel that was looked up; `direct_chat` finds with whom a chat is, `person_of` who that is."""
    rules = channel.rules() if channel else default_rules()
    resolution = resolve_with_peer(caller, address, rules, direct_chat, person_of)
    if channel is None:
        return replace(resolution, transcripts=conf.TRANSCRIPTS)
    return replace(resolution, path_mode=channel.path_mode, transcripts=channel.wants_transcripts(), has_channel=True)


def resolve_with_peer(
    caller: Caller, address: Address, rules: ChannelRules, direct_chat: DirectChat, person_of: PersonOf
) -> Resolution:
    """What an address means under these rules; with whom the chat is counts for a caller who reaches that memory.

    A direct chat that names no peer has the peer it had before, else the one its id names, if any (A5).
    """
    key = None if address.peer else key_of_direct_chat(address, rules)
    if key is not None:
        # a chat may be called by the key of its session
        chat, peer = direct_chat(address.platform, address.account, key, address.chat)
        if peer:
            resolution = _resolve_person(replace(address, chat=chat or address.chat, peer=peer), rules, person_of)
            if caller.may_reach(resolution.user_scope or ""):
                return resolution
    return _resolve_person(address, rules, person_of)


def _resolve_person(address: Address, rules: ChannelRules, person_of: PersonOf) -> Resolution:
    """What an address means; where memory is a person's, that of whom the peer is linked to (E1)."""
    resolution = resolve(address, rules, default_dm_scope=conf.DM_SCOPE)
    if not resolution.is_of_person or not (person := person_of(resolution.address)):
        return resolution
    return resolve(replace(resolution.address, person=person), rules, default_dm_scope=conf.DM_SCOPE)


def check_database_answers(resolution: Resolution) -> None:
    """Raises LeaveToFiles where a channel is answered from its files: asked with every call, so that a change needs no
    restart (A4, D9).
    """
    if resolution.path_mode == PathMode.LEGACY_ONLY:
        raise LeaveToFiles(FILES)


def check_database_takes(caller: Caller, resolution: Resolution) -> None:
    """The same of what is to be stored, and where earlier calls of the channel still wait in the journal: it goes
    behind them.
    """
    check_database_answers(resolution)
    if journal.is_pending(Stream(caller.workspace_id, resolution.address.platform, resolution.address.account)):
        raise LeaveToFiles(DATABASE)


def open_session(
    caller: Caller, address: Address, *, now: datetime, check: Callable[[Resolution], None] | None = None
) -> tuple[Session, Resolution, dict[str, Scope]]:
    """The session of an address, locked until the transaction ends; what the address means; its scopes by key.

    `check` may refuse what the address means before anything is locked or written. Raises InvalidAddress,
    ScopeNotFound, SessionBusy.
    """
    resolution = resolve_address(caller, address)
    check_reach(caller, resolution)  # before the lock: others must not learn that somebody speaks
    if check is not None:
        check(resolution)
    place = (resolution.session_platform, resolution.session_account, resolution.session_key)
    existing = conversations.acquire_lock(caller.workspace_id, *place)
    scopes = scopes_to_write(caller, resolution, session=existing)
    if not resolution.has_channel:
        ensure_channel(caller.workspace_id, resolution.address)
    session = conversations.get_or_create(caller.workspace_id, resolution, scopes, existing=existing, now=now)
    return session, resolution, scopes


def visible_session(caller: Caller, resolution: Resolution) -> Session | None:
    """The session of an address, as far as the caller may see it; never that of a chat with somebody else."""
    place = {"platform": resolution.session_platform, "account": resolution.session_account}
    session = visible_sessions(caller).filter(**place, key=resolution.session_key).first()
    return session if session and conversations.matches(session, resolution) else None


def scopes_to_write(caller: Caller, resolution: Resolution, *, session: Session | None = None) -> dict[str, Scope]:
    """The scopes a message of this address is written to, by key, created where needed.

    What came with its session is not looked up again. Raises ScopeNotFound when the caller does not reach one of them.
    """
    check_reach(caller, resolution)
    keys = [key for key in (resolution.user_scope, resolution.chat_scope) if key]
    scopes = {scope.key: scope for scope in (session.user_scope, session.chat_scope) if scope} if session else {}
    if missing := [key for key in keys if key not in scopes]:
        others = Scope.objects.in_workspace(caller.workspace_id).filter(key__in=missing)
        scopes |= {scope.key: scope for scope in others}
    return {key: scopes.get(key) or scope_to_write(caller, resolution, key) for key in keys}


def check_reach(caller: Caller, resolution: Resolution) -> None:
    """Raises ScopeNotFound when the caller does not reach every scope a message of this address is written to."""
    if not all(caller.may_reach(scope) for scope in (resolution.user_scope, resolution.chat_scope) if scope):
        raise ScopeNotFound


def scope_to_write(caller: Caller, resolution: Resolution, scope_key: str) -> Scope:
    """One scope of an address, created where needed. Raises ScopeNotFound when the caller does not reach it."""
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    kind = ScopeKind.CHAT if scope_key == resolution.chat_scope else ScopeKind.USER
    return Scope.objects.begin(caller.workspace_id, scope_key, kind)


def keys_to_recall(caller: Caller, resolution: Resolution) -> list[str]:
    """The keys of the scopes an address recalls from that the caller reaches, whether or not the scopes exist.

    Raises ScopeNotFound when it reaches none.
    """
    keys = [ref.key for ref in resolution.recall if caller.may_reach(ref.key)]
    if not keys:
        raise ScopeNotFound
    return keys


def recall_query(
    caller: Caller,
    resolution: Resolution,
    *,
    message: str,
    limit: int | None = None,
    now: datetime,
    need: str = NeedMode.AUTO,
    serve: str | float | None = None,
    default_serve: Serve = Serve.WIDE,
    **options: Any,
) -> Query:
    """The query of a message from an address: of the scopes it recalls from, in its session, for its speaker.

    Their files are looked at first. `limit`: None, as many as the workspace's policy says. `serve`: None, as the
    channel says, else the default. `options` are further fields of Query. Raises ScopeNotFound when the caller reaches
    none of the scopes.
    """
    keys = keys_to_recall(caller, resolution)
    is_pending = sync_before_search(caller, keys, now=now)
    opening = read_opening(caller.workspace_id, keys, message=message, now=now)
    there = [ref for ref in resolution.recall if ref.key in opening.scopes]
    return Query(
        workspace_id=caller.workspace_id,
        bot_id=caller.bot_id,
        language=caller.language,
        session_key=resolution.session_key,
        scope_keys=keys,
        asker=resolution.address.speaker,
        places=[SearchScope(opening.scopes[ref.key], ref) for ref in there],
        opening=opening,
        is_index_pending=is_pending,
        message=message,
        limit=limit or (0 if options.get("as_of") else opening.most_recalls),
        need=NeedMode.OFF if resolution.rules.need == NeedMode.OFF else need,
        **choose_serve(serve, rule=resolution.rules.serve, default=default_serve),
        **options,
    )


def scope_query(
    caller: Caller,
    scope_key: str,
    *,
    message: str,
    limit: int | None = None,
    now: datetime,
    serve: str | float | None = None,
    **options: Any,
) -> Query:
    """The query of a question about one scope; as `recall_query`, without a channel. Raises ScopeNotFound."""
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    sync_before_search(caller, [scope_key], now=now)
    opening = read_opening(caller.workspace_id, [scope_key], message=message, now=now)
    if (scope := opening.scopes.get(scope_key)) is None:
        raise ScopeNotFound
    return Query(
        workspace_id=caller.workspace_id,
        bot_id=caller.bot_id,
        language=caller.language,
        places=[SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))],
        opening=opening,
        message=message,
        limit=limit or (0 if options.get("as_of") else opening.most_recalls),
        **choose_serve(serve),
        **options,
    )


def find_channel(
    workspace_id: int,
    platform: str,
    account: str,
    *,
    peer: str = "",
    may_be_new: bool = False,
    inside: str = "address.",
) -> tuple[str, Channel | None]:
    """The name of a platform, and the channel of this account there, if there is one: with the linked person of a peer.

    Raises InvalidAddress where the platform is unknown, unless it may be new, or where the account differs from one
    that exists by its case alone; its fields have the prefix `inside`.
    """
    if channel := channel_with_person(workspace_id, platform, account, peer):
        return platform, channel
    places = set(Channel.objects.filter(workspace_id=workspace_id).values_list("platform", "account"))
    names = {platform} if platform not in PLATFORMS and _has_scopes(workspace_id, platform) else set()
    name = platform_among(places, platform, account, allowed=names, may_be_new=may_be_new, inside=inside)
    return name, channel_with_person(workspace_id, name, account, peer) if (name, account) in places else None


def platform_among(
    places: Collection[tuple[str, str]],
    platform: str,
    account: str,
    *,
    allowed: Collection[str] = (),
    may_be_new: bool = False,
    inside: str = "address.",
) -> str:
    """The name of a platform, beside channels with these platforms and accounts. Raises InvalidAddress."""
    names = {name for name, _account in places} | set(allowed)
    name = _platform_name(platform, names, field=f"{inside}platform", may_be_new=may_be_new)
    for place, other in places if (name, account) not in places else ():
        if place == name and normalized(other) == normalized(account):
            text = _("This account is known as “%(account)s”: another spelling would begin another memory.")
            raise InvalidAddress(text % {"account": other}, field=f"{inside}account")
    return name


def default_rules() -> ChannelRules:
    """The rules of a channel that nobody has configured."""
    return ChannelRules(
        capture_group_memory=conf.CAPTURE_GROUP_MEMORY,
        group_user_recall=conf.GROUP_USER_RECALL,
        secrets=conf.SECRETS,
    )


def ensure_channel(workspace_id: int, address: Address) -> None:
    """Let the channel appear in the admin the first time a bot speaks from there."""
    channel = Channel(workspace_id=workspace_id, platform=address.platform, account=address.account)
    Channel.objects.bulk_create([channel], ignore_conflicts=True)


def set_rules(
    workspace_id: int,
    place: tuple[str, str],
    rules: Mapping[str, Any],
    *,
    actor: str,
    expected_version: int | None = None,
) -> tuple[Channel, bool]:
    """Set rules of the channel of a platform and account: the channel, and whether it was created.

    Rules that are not named stay. Raises InvalidAddress or VersionConflict.
    """
    with transaction.atomic(), acting(actor):
        platform, existing = find_channel(workspace_id, *place, may_be_new=True, inside="")
        where = {"workspace_id": workspace_id, "platform": platform, "account": place[1]}
        if existing is None and expected_version is None:
            channel, is_new = Channel.objects.get_or_create(**where, defaults=dict(rules))
            if is_new:
                return channel, True
        row = Channel.objects.select_for_update().filter(**where).first()
        if row is None or expected_version not in (None, row.version):
            raise VersionConflict(_("The channel was changed since you read it."))
        for name, value in rules.items():
            setattr(row, name, value)
        if rules:
            row.save(update_fields=list(rules))
            row.refresh_from_db(fields=["version"])
            transaction.on_commit(partial(cards.forget_channels, workspace_id))
    return row, False


def check_scope_key(workspace_id: int, scope_key: str) -> None:
    """Raises InvalidAddress when the key of a new scope names a platform that is unknown."""
    name = platform_of_key(scope_key)
    if not name or name in PLATFORMS or _has_scopes(workspace_id, name):
        return
    names = set(Channel.objects.filter(workspace_id=workspace_id).values_list("platform", flat=True).distinct())
    if _platform_name(name, names, field="scope") != name:
        raise InvalidAddress(_("Names of platforms are written in small letters."), field="scope")


def normalized(name: str) -> str:
    """A name without case and width, for comparing."""
    return unicodedata.normalize("NFKC", name).casefold()


def _platform_name(name: str, names: Collection[str], *, field: str, may_be_new: bool = False) -> str:
    """The name of a platform that exists, or of a new one as it is written.

    Raises InvalidAddress where it is neither, with the name that was probably meant.
    """
    plain = name if name in names else normalized(name)
    if plain in PLATFORMS or plain in names:
        return plain
    closest = ALIASES.get(plain) or next(iter(get_close_matches(plain, [*PLATFORMS, *names], n=1, cutoff=0.75)), None)
    if closest is not None:
        text = _("The platform “%(name)s” is not known here; did you mean “%(meant)s”?")
        raise InvalidAddress(text % {"name": name, "meant": closest}, field=field)
    if may_be_new:
        return plain
    text = _("The platform “%(name)s” is not known here. Known are %(platforms)s, and those of channels.")
    raise InvalidAddress(text % {"name": name, "platforms": ", ".join(PLATFORMS)}, field=field)


def _has_scopes(workspace_id: int, platform: str) -> bool:
    """Whether a workspace has a scope of this platform, from before names were checked."""
    scopes = Scope.objects.in_workspace(workspace_id)
    return any(scopes.filter(key__startswith=start).exists() for start in starts_of_keys(platform))
