"""What each role may do at each address of the admin, as people read it.

A line is a page: who may open it, and who may do with it what it is for. `V` viewer, `A` auditor, `C` curator,
`O` operator, `W` owner, `S` superusers alone. Pages that are missing here fail the test.
"""

from collections.abc import Iterator

EVERYBODY, AUDITORS, CURATORS, OPERATORS, OWNERS, NOBODY = "VACOWS", "AWS", "COWS", "OWS", "WS", ""
SUPERUSERS = "S"
#: Lists whose rows are changed: who may add, change and remove one.
TABLES = {
    "memories_batch": (NOBODY, NOBODY, NOBODY),
    "memories_bot": (OPERATORS, OPERATORS, NOBODY),
    "memories_botkey": (NOBODY, NOBODY, NOBODY),
    "memories_dailyevent": (NOBODY, CURATORS, NOBODY),
    "memories_entry": (CURATORS, CURATORS, NOBODY),
    "memories_extractionbatch": (NOBODY, NOBODY, NOBODY),
    "memories_filestate": (NOBODY, EVERYBODY, NOBODY),  # leads on to the page with its lines; nothing is changed
    "memories_jobrun": (NOBODY, NOBODY, NOBODY),
    "memories_member": (SUPERUSERS, OWNERS, OWNERS),
    "memories_policy": (NOBODY, EVERYBODY, NOBODY),  # leads on to the form of its kind; nothing is changed
    "memories_oauthgrant": (NOBODY, NOBODY, NOBODY),
    "memories_pinnedtest": (NOBODY, NOBODY, CURATORS),
    "memories_recalltrace": (NOBODY, NOBODY, NOBODY),
    "memories_refusedfact": (NOBODY, NOBODY, NOBODY),
    "memories_scope": (NOBODY, OPERATORS, NOBODY),
    "memories_spend": (NOBODY, NOBODY, NOBODY),
    "memories_webhook": (OWNERS, OWNERS, NOBODY),
    "memories_webhookdelivery": (NOBODY, NOBODY, NOBODY),
    "memories_workspace": (SUPERUSERS, OPERATORS, NOBODY),
    "channels_app_channel": (OPERATORS, OPERATORS, NOBODY),
    "channels_app_connection": (OPERATORS, OPERATORS, NOBODY),
    "channels_app_incomingmessage": (NOBODY, NOBODY, NOBODY),
    "channels_app_outgoingmessage": (NOBODY, NOBODY, NOBODY),
    "channels_app_person": (NOBODY, EVERYBODY, NOBODY),  # leads on to the person's page; nothing is changed
    "channels_app_pathcomparison": (NOBODY, NOBODY, NOBODY),
    "channels_app_replayedrecord": (NOBODY, NOBODY, NOBODY),
    "sessions_app_session": (NOBODY, NOBODY, NOBODY),
}
#: Read by those who look into what others do.
AUDITED = {"memories_auditrecord": (NOBODY, NOBODY, NOBODY)}
#: Links that let people in, and people who were erased: for owners.
INVITED = {"memories_invitation": (NOBODY, NOBODY, NOBODY), "memories_erasure": (NOBODY, NOBODY, NOBODY)}
#: Pages of their own: who may open one, and who may send its form.
PAGES = {
    "index": EVERYBODY,
    "app_list": EVERYBODY,
    "search": EVERYBODY,
    "autocomplete": EVERYBODY,
    "jsi18n": EVERYBODY,
    "login_code": EVERYBODY,
    "second_factor": EVERYBODY,
    "password_change": EVERYBODY,
    "password_change_done": EVERYBODY,
    "set_language": EVERYBODY,
    "login": EVERYBODY,
    "logout": EVERYBODY,
    "review": CURATORS,
    "review_due": CURATORS,
    "quarantine": CURATORS,
    "quarantine_new": CURATORS,
    "quarantine_one": CURATORS,
    "clock": EVERYBODY,
    "own_views": EVERYBODY,  # of lists that this person may open, for oneself
    "attention": EVERYBODY,  # puts lines off for oneself; what is tried again asks for the right that takes
    "first_day": EVERYBODY,  # ticks a step of one's own
    "lab": EVERYBODY,
    "log": SUPERUSERS,
    "import": OPERATORS,
    "connect_bot": OWNERS,
    "connect_bot_status": OWNERS,
    "memories_member_invite": OWNERS,
    "memories_invitation_withdraw": OWNERS,
    "memories_auditrecord_export": AUDITORS,
    "memories_filestate_scope": EVERYBODY,
    "memories_filestate_file": EVERYBODY,
    "memories_filestate_index": OPERATORS,
    "memories_recalltrace_csv": OWNERS,
    "memories_batch_approve": CURATORS,
    "memories_batch_refuse": CURATORS,
    "memories_batch_plan": CURATORS,
    "memories_batch_take_in": CURATORS,
    "memories_batch_tidy": OPERATORS,
    "memories_scope_branch": CURATORS,
    "memories_batch_run": EVERYBODY,
    "memories_batch_try": CURATORS,
    "memories_batch_decide": CURATORS,
    "memories_batch_undo": OPERATORS,
    "memories_batch_undo_run": OPERATORS,
    "memories_batch_restore": CURATORS,
    "memories_batch_last_night": CURATORS,
    "memories_bot_issue_key": OWNERS,
    "memories_bot_enable_or_disable": OPERATORS,
    "memories_bot_quarantine": CURATORS,
    "memories_botkey_revoke": OWNERS,
    "memories_oauthgrant_revoke": OWNERS,
    "oauth_authorize": OWNERS,
    "memories_dailyevent_expire": CURATORS,
    "memories_dailyevent_restore": CURATORS,
    "memories_entry_columns": EVERYBODY,
    "memories_entry_csv": OWNERS,
    "memories_entry_version": CURATORS,
    "memories_entry_still_true": CURATORS,
    "memories_entry_expire": CURATORS,
    "memories_entry_restore": CURATORS,
    "memories_entry_quarantine": CURATORS,
    "memories_entry_reveal": CURATORS,
    "memories_extractionbatch_extract_now": OPERATORS,
    "memories_extractionbatch_retry": OPERATORS,
    "memories_extractionbatch_drop": OPERATORS,
    "memories_policy_set": OPERATORS,
    "memories_policy_versions": EVERYBODY,
    "memories_policy_go_back": OPERATORS,
    "channels_app_replayedrecord_retry": OPERATORS,
    "channels_app_replayedrecord_discard": OPERATORS,
    "memories_webhook_send_test": OWNERS,
    "memories_webhook_renew_secret": OWNERS,
    "memories_webhookdelivery_send_again": OWNERS,
    "memories_jobrun_run": OPERATORS,
    "memories_jobrun_report": EVERYBODY,
    "channels_app_channel_version": OPERATORS,
    "channels_app_connection_status": EVERYBODY,
    "channels_app_connection_send_test": OPERATORS,
    "channels_app_connection_renew_callback_secret": OPERATORS,
    "channels_app_incomingmessage_answer_again": OPERATORS,
    "channels_app_outgoingmessage_send_again": OPERATORS,
    "channels_app_person_page": EVERYBODY,
    "channels_app_person_link": OPERATORS,
    "channels_app_person_unlink": OPERATORS,
    "channels_app_person_quarantine": CURATORS,
    "channels_app_person_note": OPERATORS,
    "channels_app_person_consent": OPERATORS,
    "channels_app_person_export": OWNERS,
    "sessions_app_session_flush": OPERATORS,
    "sessions_app_session_close": OPERATORS,
    "sessions_app_session_reset": OPERATORS,
    "sessions_app_session_take_out": CURATORS,
    "sessions_app_session_quarantine": CURATORS,
    "memories_erasure_erase": OWNERS,
    "memories_erasure_certificate": OWNERS,
    "memories_erasure_json": OWNERS,
    "django_q_failure_run_one_again": SUPERUSERS,
    "django_q_failure_dismiss_one": SUPERUSERS,
    "django_q_schedule_switch": SUPERUSERS,
    "auth_user_password_change": SUPERUSERS,
    "auth_user_remove_factor": SUPERUSERS,
}
#: Pages that everybody opens: who may send their form.
SENT_BY = {"model_cost": OPERATORS}
#: Tables of the platform, not of a workspace: who may add, change and remove a row. Superusers alone see them.
OF_THE_PLATFORM = {
    "auth_user": (SUPERUSERS, SUPERUSERS, NOBODY),
    "django_q_success": (NOBODY, NOBODY, NOBODY),
    "django_q_failure": (NOBODY, NOBODY, NOBODY),
    "django_q_schedule": (NOBODY, NOBODY, NOBODY),
    "operations_host": (NOBODY, NOBODY, NOBODY),
    "operations_heartbeat": (NOBODY, NOBODY, NOBODY),
}
#: Actions on ticked rows, by list: who is offered each.
ACTIONS = {
    "memories_batch": {"approve_chosen": CURATORS, "refuse_chosen": CURATORS},
    "memories_pinnedtest": {"run_now": CURATORS, "delete_selected": CURATORS},
    "memories_dailyevent": {"expire_chosen": CURATORS, "restore_chosen": CURATORS},
    "memories_entry": dict.fromkeys(
        (
            "expire_chosen",
            "restore_chosen",
            "merge_chosen",
            "file_chosen",
            "pin_chosen",
            "unpin_chosen",
            "mask_chosen",
            "no_secret_chosen",
            "harmless_chosen",
            "retype_chosen",
            "term_chosen",
            "checked_chosen",
            "move_chosen",
        ),
        CURATORS,
    ),
    "memories_extractionbatch": dict.fromkeys(("extract_chosen", "retry_chosen", "drop_chosen"), OPERATORS),
    "channels_app_replayedrecord": dict.fromkeys(("retry_chosen", "discard_chosen"), OPERATORS),
    "memories_webhookdelivery": {"send_chosen_again": OWNERS},
    "channels_app_incomingmessage": {"answer_chosen_again": OPERATORS},
    "channels_app_outgoingmessage": {"send_chosen_again": OPERATORS},
    "django_q_failure": dict.fromkeys(("run_again", "dismiss"), SUPERUSERS),
}


def lines() -> Iterator[tuple[str, str, str]]:
    """Every address by its name, with who may GET it and who may POST to it."""
    for page, who in PAGES.items():
        yield page, who, who
    for page, who in SENT_BY.items():
        yield page, EVERYBODY, who
    for tables, seen_by in ((TABLES, EVERYBODY), (AUDITED, AUDITORS), (INVITED, OWNERS), (OF_THE_PLATFORM, SUPERUSERS)):
        for table, (add, change, remove) in tables.items():
            yield f"{table}_changelist", seen_by, seen_by
            yield f"{table}_history", seen_by, seen_by
            yield f"{table}_add", add, add
            yield f"{table}_change", seen_by, change
            yield f"{table}_delete", remove, remove
