"""Calls about entries."""

from django.urls import path

from memories.api.entries import EntriesView

urlpatterns = [
    path("entries", EntriesView.as_view(), name="entries"),
]
