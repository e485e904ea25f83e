"""How the description of the API is generated and shown."""

SETTINGS = {
    "TITLE": "memplatform",
    "DESCRIPTION": "The memory an operator can trust: what bots remember, and recall.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [
        "memories.api.access.BotKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "SERVE_PERMISSIONS": ["memories.api.access.StaffOrKey"],
    "SWAGGER_UI_DIST": "SIDECAR",  # everything from here: no page of ours asks another host
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": True,
    "ENUM_NAME_OVERRIDES": {
        "EntryType": "memories.choices.EntryType",
        "EntryState": "memories.models.state.State",
        "MessageRole": "sessions_app.api.serializers.ROLES",
        "ReadRole": "sessions_app.api.answers.READ_ROLES",
        "BatchState": "memories.choices.BatchState",
        "ChangeState": "memories.choices.ChangeState",
        "OutcomeEnum": "memories.choices.Outcome",
        "SavedOutcome": "channels_app.doors.tools.save.OUTCOMES",
        "SourceEnum": "memories.choices.Source",
        "SearchSource": "channels_app.doors.tools.search.ALL_SOURCES",
        "ErrorType": "memories.api.schema.ERROR_TYPES",
    },
}
