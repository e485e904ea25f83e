"""Calls about one session; those that begin with an address are channels_app's."""

from django.urls import path

from sessions_app.api.sessions import CompactView, FlushView, MessageView, ResetView, SessionHistoryView, SessionView

urlpatterns = [
    path(
        "session_events/<uuid:session>/<int:conversation>/event-<int:event>",
        MessageView.as_view(),
        name="session-event",
    ),
    path("sessions/<str:key>", SessionView.as_view(), name="session"),
    path("sessions/<str:key>/history", SessionHistoryView.as_view(), name="session-history"),
    path("sessions/<str:key>/reset", ResetView.as_view(), name="session-reset"),
    path("sessions/<str:key>/flush", FlushView.as_view(), name="session-flush"),
    path("sessions/<str:key>/compact", CompactView.as_view(), name="session-compact"),
]
