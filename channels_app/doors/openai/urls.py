"""The addresses of OpenAI's form."""

from django.urls import path

from channels_app.doors.openai.calls import ChatView, ModelsView
from channels_app.doors.openai.passing import PassingView
from channels_app.doors.openai.responses import ResponsesView

urlpatterns = [
    path("chat/completions", ChatView.as_view(), name="chat-completions"),
    path("responses", ResponsesView.as_view(), name="responses"),
    path("models", ModelsView.as_view(), name="models"),
    path("<path:rest>", PassingView.as_view(), name="passed-on"),
]
