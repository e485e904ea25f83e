"""Calls that start from an address."""

from django.urls import path

from channels_app.api.addresses import ResolveView, SessionsView
from channels_app.api.channels import ChannelView, PlatformView
from channels_app.api.context import ContextView
from channels_app.api.entries import EntriesView
from channels_app.api.messages import MessageReplyView, NextMessageView
from channels_app.api.recall import ComparisonView, RecallView
from channels_app.api.tools import (
    AppendView,
    GetView,
    ListView,
    SaveView,
    SearchView,
    ToolCallView,
    ToolsView,
    UpdateView,
)
from channels_app.api.turns import EventsView, TurnsView

urlpatterns = [
    path("turns", TurnsView.as_view(), name="turns"),
    path("context", ContextView.as_view(), name="context"),
    path("recall", RecallView.as_view(), name="recall"),
    path("recalls/comparison", ComparisonView.as_view(), name="recalls-comparison"),
    path("entries", EntriesView.as_view(), name="entries"),
    path("tools", ToolsView.as_view(), name="tools"),
    path("tools/call", ToolCallView.as_view(), name="tools-call"),
    path("tools/memory_search", SearchView.as_view(), name="memory-search"),
    path("tools/memory_get", GetView.as_view(), name="memory-get"),
    path("tools/memory_save", SaveView.as_view(), name="memory-save"),
    path("tools/memory_append", AppendView.as_view(), name="memory-append"),
    path("tools/memory_update", UpdateView.as_view(), name="memory-update"),
    path("tools/memory_list", ListView.as_view(), name="memory-list"),
    path("channels/<str:platform>", PlatformView.as_view(), name="platform-channel"),
    path("channels/<str:platform>/<path:account>", ChannelView.as_view(), name="channel"),
    path("messages/next", NextMessageView.as_view(), name="messages-next"),
    path("messages/<uuid:uid>/answer", MessageReplyView.as_view(), name="message-answer"),
    path("sessions", SessionsView.as_view(), name="sessions"),
    path("sessions/<str:key>/events", EventsView.as_view(), name="session-events"),
    path("scopes/resolve", ResolveView.as_view(), name="scopes-resolve"),
]
