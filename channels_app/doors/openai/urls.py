"""The addresses of OpenAI's form."""

from django.urls import path

from channels_app.doors.openai.calls import ChatView, ModelsView

urlpatterns = [
    path("chat/completions", ChatView.as_view(), name="chat-completions"),
    path("models", ModelsView.as_view(), name="models"),
]
