"""Calls of sessions and channels, described once for both clients. Made by generate.py from the API's description."""

from __future__ import annotations

from typing import Unpack

from memplatform_client import types
from memplatform_client.call import Call, Listing, Method, new_key


class ConversationCalls:
    """Calls of sessions and channels of the API, by the names of its description."""

    @Method
    def read_channel_without_account(self, platform: str) -> Call[types.ChannelAnswer]:
        """The rules of a platform's messages that name no account."""
        return Call("GET", "/api/v1/channels/{platform}", places={"platform": platform})

    @Method
    def set_rules_without_account(
        self,
        platform: str,
        *,
        if_match: int | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.NewRules],
    ) -> Call[types.ChannelAnswer]:
        """Set the rules of a platform's messages that name no account."""
        return Call(
            "PUT",
            "/api/v1/channels/{platform}",
            places={"platform": platform},
            body=body,
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Method
    def read_channel(self, platform: str, account: str) -> Call[types.ChannelAnswer]:
        """The rules of one account of a platform."""
        return Call("GET", "/api/v1/channels/{platform}/{account}", places={"platform": platform, "account": account})

    @Method
    def set_channel_rules(
        self,
        platform: str,
        account: str,
        *,
        if_match: int | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.NewRules],
    ) -> Call[types.ChannelAnswer]:
        """Set rules of a channel; it begins here if nobody has spoken from it yet."""
        return Call(
            "PUT",
            "/api/v1/channels/{platform}/{account}",
            places={"platform": platform, "account": account},
            body=body,
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Method
    def context(self, **body: Unpack[types.ContextRequest]) -> Call[types.ContextAnswer]:
        """A bot asks for all it needs at once, and then asks its model."""
        return Call("POST", "/api/v1/context", body=body)

    @Method
    def answer_message(
        self, uid: str, *, idempotency_key: str | None = None, **body: Unpack[types.MessageReply]
    ) -> Call[types.TurnAnswer]:
        """Answer a message that was taken: it is sent, and the turn is remembered."""
        return Call(
            "POST", "/api/v1/messages/{uid}/answer", places={"uid": uid}, body=body, once=idempotency_key or new_key()
        )

    @Method
    def next_message(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.NextMessage]
    ) -> Call[types.NextMessageAnswer]:
        """Take the next message of a connection that is answered by a bot which asks, with what memory knows
        on it."""
        return Call("POST", "/api/v1/messages/next", body=body, once=idempotency_key or new_key())

    @Method
    def resolve_address(self, **body: Unpack[types.AddressRequest]) -> Call[types.ResolvedAnswer]:
        """What an address means: its session, its scopes, and what is recalled there."""
        return Call("POST", "/api/v1/scopes/resolve", body=body)

    @Method
    def read_session_event(self, session: str, conversation: int, event: int) -> Call[types.ReadEventAnswer]:
        """The message behind a path that a recall handed out."""
        return Call(
            "GET",
            "/api/v1/session_events/{session}/{conversation}/event-{event}",
            places={"session": session, "conversation": conversation, "event": event},
        )

    @Listing
    def list_sessions(
        self,
        *,
        account: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        open: bool | None = None,
        platform: str | None = None,
        scope: str | None = None,
    ) -> Call[types.SessionPage]:
        """The conversations a key may see."""
        return Call(
            "GET",
            "/api/v1/sessions",
            query={
                "account": account,
                "cursor": cursor,
                "limit": limit,
                "open": open,
                "platform": platform,
                "scope": scope,
            },
        )

    @Method
    def meet_session(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.AddressRequest]
    ) -> Call[types.SessionAnswer]:
        """The session an address means, begun if need be."""
        return Call("POST", "/api/v1/sessions", body=body, once=idempotency_key or new_key())

    @Method
    def read_session(
        self, key: str, *, account: str | None = None, platform: str | None = None
    ) -> Call[types.SessionAnswer]:
        """One session, as it is now."""
        return Call(
            "GET", "/api/v1/sessions/{key}", places={"key": key}, query={"account": account, "platform": platform}
        )

    @Method
    def compact_session(
        self, key: str, *, account: str | None = None, platform: str | None = None, idempotency_key: str | None = None
    ) -> Call[types.CompactAnswer]:
        """Has the worker replace older turns by a summary, however full the history is."""
        return Call(
            "POST",
            "/api/v1/sessions/{key}/compact",
            places={"key": key},
            query={"account": account, "platform": platform},
            once=idempotency_key or new_key(),
        )

    @Listing
    def list_session_events(
        self,
        key: str,
        *,
        account: str | None = None,
        conversation: int | None = None,
        cursor: int | None = None,
        limit: int | None = None,
        platform: str | None = None,
    ) -> Call[types.SessionEventPage]:
        """The messages of a session."""
        return Call(
            "GET",
            "/api/v1/sessions/{key}/events",
            places={"key": key},
            query={
                "account": account,
                "conversation": conversation,
                "cursor": cursor,
                "limit": limit,
                "platform": platform,
            },
        )

    @Method
    def append_session_events(
        self,
        key: str,
        *,
        account: str | None = None,
        platform: str | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.NewEvents],
    ) -> Call[types.AppendedAnswer]:
        """Append messages to a session."""
        return Call(
            "POST",
            "/api/v1/sessions/{key}/events",
            places={"key": key},
            query={"account": account, "platform": platform},
            body=body,
            once=idempotency_key or new_key(),
        )

    @Method
    def flush_session(
        self,
        key: str,
        *,
        account: str | None = None,
        conversation: int | None = None,
        platform: str | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.NewFlush],
    ) -> Call[types.FlushAnswer]:
        """Takes in what must not be lost when a conversation is shortened."""
        return Call(
            "POST",
            "/api/v1/sessions/{key}/flush",
            places={"key": key},
            query={"account": account, "conversation": conversation, "platform": platform},
            body=body,
            once=idempotency_key or new_key(),
        )

    @Method
    def replay_session(
        self, key: str, *, account: str | None = None, max_tokens: int | None = None, platform: str | None = None
    ) -> Call[types.SessionHistoryAnswer]:
        """The open conversation as it goes to a model."""
        return Call(
            "GET",
            "/api/v1/sessions/{key}/history",
            places={"key": key},
            query={"account": account, "max_tokens": max_tokens, "platform": platform},
        )

    @Method
    def reset_session(
        self, key: str, *, account: str | None = None, platform: str | None = None, idempotency_key: str | None = None
    ) -> Call[types.ResetAnswer]:
        """Closes the conversation; the next message begins another, with no history. Long-term memory stays."""
        return Call(
            "POST",
            "/api/v1/sessions/{key}/reset",
            places={"key": key},
            query={"account": account, "platform": platform},
            once=idempotency_key or new_key(),
        )

    @Method
    def take_turn(self, *, idempotency_key: str | None = None, **body: Unpack[types.NewTurn]) -> Call[types.TurnAnswer]:
        """A bot reports a finished turn; it is remembered when this returns."""
        return Call("POST", "/api/v1/turns", body=body, once=idempotency_key or new_key())
