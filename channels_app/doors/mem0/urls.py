"""Calls of mem0's client, below the address that client is given as its host."""

from django.urls import path, re_path

from channels_app.doors.mem0.calls import UnsupportedView
from channels_app.doors.mem0.entities import (
    EntitiesView,
    EntityView,
    ExportsView,
    ExportView,
    FeedbackView,
    PingView,
)
from channels_app.doors.mem0.memories import AddView, BatchView, HistoryView, ListView, MemoryView, SearchView
from channels_app.doors.mem0.versions import (
    EventsView,
    EventView,
    FormerSearchView,
    MemoriesView,
    ProjectView,
    SecondListView,
    ServerMemoriesView,
    ServerMemoryView,
    ServerResetView,
    ServerSearchView,
)
from channels_app.doors.mem0.webhooks import WebhooksView, WebhookView

urlpatterns = [
    path("v1/ping/", PingView.as_view()),
    path("v3/memories/add/", AddView.as_view()),
    path("v3/memories/search/", SearchView.as_view()),
    path("v3/memories/", ListView.as_view()),
    path("v1/memories/", MemoriesView.as_view()),
    path("v1/memories/search/", FormerSearchView.as_view()),
    path("v2/memories/", SecondListView.as_view()),
    path("v2/memories/search/", FormerSearchView.as_view()),
    path("v1/event/<path:event_id>/", EventView.as_view()),
    path("v1/events/", EventsView.as_view()),
    path("api/v1/orgs/organizations/<str:organization>/projects/<str:project>/", ProjectView.as_view()),
    path("api/v1/webhooks/projects/<str:project>/", WebhooksView.as_view()),
    path("api/v1/webhooks/<str:webhook_id>/", WebhookView.as_view()),
    path("v1/memories/<str:memory_id>/", MemoryView.as_view()),
    path("v1/memories/<str:memory_id>/history/", HistoryView.as_view()),
    path("v1/batch/", BatchView.as_view()),
    path("v1/entities/", EntitiesView.as_view()),
    path("v2/entities/user/<path:name>/profile/", UnsupportedView.as_view()),
    path("v1/entities/<str:kind>/<path:name>/", EntityView.as_view()),
    path("v2/entities/<str:kind>/<path:name>/", EntityView.as_view()),
    path("v1/feedback/", FeedbackView.as_view()),
    path("v1/exports/", ExportsView.as_view()),
    path("v1/exports/get/", ExportView.as_view()),
    path("memories", ServerMemoriesView.as_view()),
    path("memories/<str:memory_id>", ServerMemoryView.as_view()),
    path("memories/<str:memory_id>/history", HistoryView.as_view()),
    path("search", ServerSearchView.as_view()),
    path("reset", ServerResetView.as_view()),
    re_path("", UnsupportedView.as_view()),
]
