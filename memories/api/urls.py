"""Calls about entries, batches, past recalls and webhooks."""

from django.urls import path

from memories.api.batches import ApproveView, BatchesView, BatchView, RefuseView, RowView, UndoView
from memories.api.daily_events import DailyEventsView
from memories.api.entries import EntryHistoryView, EntryView, RestoreView, RevertView
from memories.api.recall_traces import FeedbackView, RecallTraceView
from memories.api.webhooks import (
    DeliveriesView,
    DeliveryView,
    RenewSecretView,
    SendAgainView,
    SendAllAgainView,
    SendTestView,
    WebhooksView,
    WebhookView,
)

urlpatterns = [
    path("entries/<uuid:uid>", EntryView.as_view(), name="entry"),
    path("entries/<uuid:uid>/history", EntryHistoryView.as_view(), name="entry-history"),
    path("entries/<uuid:uid>/restore", RestoreView.as_view(), name="entry-restore"),
    path("entries/<uuid:uid>/revert", RevertView.as_view(), name="entry-revert"),
    path("recalls/<uuid:uid>", RecallTraceView.as_view(), name="recall-trace"),
    path("recalls/<uuid:uid>/feedback", FeedbackView.as_view(), name="recall-feedback"),
    path("events", DailyEventsView.as_view(), name="events"),
    path("batches", BatchesView.as_view(), name="batches"),
    path("batches/<uuid:uid>", BatchView.as_view(), name="batch"),
    path("batches/<uuid:uid>/approve", ApproveView.as_view(), name="batch-approve"),
    path("batches/<uuid:uid>/refuse", RefuseView.as_view(), name="batch-refuse"),
    path("batches/<uuid:uid>/undo", UndoView.as_view(), name="batch-undo"),
    path("batches/<uuid:uid>/changes/<int:position>", RowView.as_view(), name="batch-row"),
    path("webhooks", WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<uuid:uid>", WebhookView.as_view(), name="webhook"),
    path("webhooks/<uuid:uid>/test", SendTestView.as_view(), name="webhook-test"),
    path("webhooks/<uuid:uid>/renew-secret", RenewSecretView.as_view(), name="webhook-renew-secret"),
    path("webhooks/<uuid:uid>/deliveries", DeliveriesView.as_view(), name="deliveries"),
    path("webhooks/<uuid:uid>/deliveries/send-again", SendAllAgainView.as_view(), name="deliveries-send-again"),
    path("webhooks/deliveries/<uuid:delivery>", DeliveryView.as_view(), name="delivery"),
    path("webhooks/deliveries/<uuid:delivery>/send-again", SendAgainView.as_view(), name="delivery-send-again"),
]
