"""Calls about entries, batches and past recalls."""

from django.urls import path

from memories.api.batches import ApproveView, BatchesView, BatchView, RefuseView, RowView, UndoView
from memories.api.daily_events import DailyEventsView
from memories.api.entries import EntryHistoryView, EntryView, RestoreView, RevertView
from memories.api.recall_traces import FeedbackView, RecallTraceView

urlpatterns = [
    path("entries/<uuid:uid>", EntryView.as_view(), name="entry"),
    path("entries/<uuid:uid>/history", EntryHistoryView.as_view(), name="entry-history"),
    path("entries/<uuid:uid>/restore", RestoreView.as_view(), name="entry-restore"),
    path("entries/<uuid:uid>/revert", RevertView.as_view(), name="entry-revert"),
    path("recalls/<uuid:uid>", RecallTraceView.as_view(), name="recall-told"),
    path("recalls/<uuid:uid>/feedback", FeedbackView.as_view(), name="recall-feedback"),
    path("events", DailyEventsView.as_view(), name="events"),
    path("batches", BatchesView.as_view(), name="batches"),
    path("batches/<uuid:uid>", BatchView.as_view(), name="batch"),
    path("batches/<uuid:uid>/approve", ApproveView.as_view(), name="batch-approve"),
    path("batches/<uuid:uid>/refuse", RefuseView.as_view(), name="batch-refuse"),
    path("batches/<uuid:uid>/undo", UndoView.as_view(), name="batch-undo"),
    path("batches/<uuid:uid>/changes/<int:position>", RowView.as_view(), name="batch-row"),
]
