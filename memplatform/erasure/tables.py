"""What an erasure does with every table of the database: the one place that says it, and a test that misses none.

A table that is not named here is a table in which something of an erased person may stay.
"""

from collections.abc import Mapping

from memories.models.table import Fate

_MEMORY = {
    "memories_entry": Fate.REMOVED,
    "memories_dailyevent": Fate.REMOVED,
    "memories_entryaccess": Fate.ALONG,
    "memories_slot": Fate.ALONG,
    "memories_link": Fate.ALONG,
    "memories_evidence": Fate.ALONG,
    "memories_entryvector": Fate.ALONG,
    "memories_stagedvector": Fate.ALONG,
    "memories_entryindex": Fate.ALONG,
    "memories_indexqueueitem": Fate.ALONG,
    "memories_suppression": Fate.REMOVED,
    "memories_refusedfact": Fate.REMOVED,
    "memories_scope": Fate.REMOVED,
    "memories_scopeterm": Fate.COUNTED,
    "memories_filestate": Fate.REMOVED,
    "memories_embeddingcache": Fate.REMOVED,
}
_CONVERSATIONS = {
    "sessions_app_session": Fate.REMOVED,
    "sessions_app_sessionevent": Fate.REMOVED,
    "sessions_app_eventindex": Fate.ALONG,
    "sessions_app_flush": Fate.CLEARED,
    "memories_extractionbatch": Fate.REMOVED,
    "memories_bufferedturn": Fate.REMOVED,
}
_PEOPLE = dict.fromkeys(("channels_app_person", "channels_app_identity", "channels_app_consent"), Fate.REMOVED)
_RECORDS = {
    "memories_change": Fate.REMOVED,
    "memories_batch": Fate.REMOVED,
    "memories_batchchange": Fate.CLEARED,
    "memories_recalltrace": Fate.REMOVED,
    "memories_pinnedtest": Fate.REMOVED,
    "memories_webhookdelivery": Fate.REMOVED,
    "memories_idempotencykey": Fate.SEARCHED,
    "memories_jobrun": Fate.SEARCHED,
    "channels_app_replayedrecord": Fate.SEARCHED,
    "channels_app_pathcomparison": Fate.SEARCHED,
    "django_admin_log": Fate.SEARCHED,
    "django_session": Fate.SEARCHED,
    "django_q_task": Fate.SEARCHED,
    "django_q_ormq": Fate.NOTHING,  # ids of what is to be worked on
    "django_q_schedule": Fate.NOTHING,
}
_ERASURES = dict.fromkeys(("memories_erasure", "memories_erasuretarget", "memories_tombstone"), Fate.RECORD)
_STAFF = {"memories_auditrecord": Fate.KEPT, "memories_invitation": Fate.NOTHING}
_OTHERS = dict.fromkeys(
    (
        *("memories_workspace", "memories_member", "memories_bot", "memories_botkey", "memories_secret"),
        *("memories_policy", "memories_embeddingmodel", "memories_spend", "memories_keyusage"),
        *("memories_hourlycount", "memories_hourlytime", "memories_rolledhour", "memories_entrystock"),
        *("memories_mostrecalled", "memories_incident", "memories_snooze"),  # numbers, and ids that lead nowhere
        *("memories_heartbeat", "memories_modelhealth", "memories_webhook", "channels_app_channel"),
        *("auth_user", "auth_group", "auth_permission", "auth_group_permissions", "auth_user_groups"),
        *(
            "auth_user_user_permissions",
            "memories_factor",
            "axes_accessattempt",
            "axes_accessattemptexpiration",
            "axes_accessfailurelog",
        ),
        *("axes_accesslog", "django_content_type", "django_migrations"),
    ),
    Fate.NOTHING,
)
FATES: Mapping[str, Fate] = {**_MEMORY, **_CONVERSATIONS, **_PEOPLE, **_RECORDS, **_ERASURES, **_STAFF, **_OTHERS}

#: Places outside the tables that no platform reaches, in the order of the certificate. Logs hold ids, and no words.
NOT_REACHED = ("backups", "exports", "logs")
