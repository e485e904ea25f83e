"""What an export of a former version tells is brought in by this one."""

import pytest

from memplatform.transfer.records import KINDS

#: The columns of an export made at 9f850060, by kind of record.
OF_BEFORE = {
    "workspace": "language name time_zone",
    "channel": (
        "account capture_group_memory dm_scope group_prefix group_sessions group_user_recall label max_tokens "
        "need path_mode platform session_mode session_prefix transcripts uid version"
    ),
    "scope": "created_at frozen key kind label nicknames projects sender_names speakers uid",
    "session": (
        "account chat_id chat_scope compacted_to compaction_asked_at conversation cycle flush_asked_at "
        "flushed_to is_group key last_at metadata next_position peer platform rules started_at tokens uid "
        "user_scope version"
    ),
    "message": "at content conversation data kind position sender_id session tokens",
    "entry": (
        "access archived_at category channel chat_id chats content created_at echo evidence expired_at "
        "expires_at heading history importance line_from line_to origins path pinned project quarantined_at "
        "review_at scope sender_id session_id slots source speaker stated_at subtype superseded_by "
        "suppressed_at thread_id tier topic type uid updated_at verification verified_at verified_by version"
    ),
    "link": "created_at from_entry kind to_entry version",
}


@pytest.mark.parametrize("kind", OF_BEFORE)
def test_a_column_that_came_later_has_a_value_where_an_export_lacks_it(kind: str) -> None:
    columns = set(KINDS[kind].columns)
    assert columns - set(OF_BEFORE[kind].split()) <= set(KINDS[kind].later)
