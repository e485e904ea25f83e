"""The addresses of OpenAI's form."""

from django.urls import path, register_converter
from django.urls.converters import PathConverter

from channels_app.doors.openai.calls import ChatView, ModelsView
from channels_app.doors.openai.passing import PassingView
from channels_app.doors.openai.responses import ResponsesView


class Anything(PathConverter):
    """Whatever stands there, and nothing: that is refused in OpenAI's form as well."""

    regex = ".*"


register_converter(Anything, "anything")
urlpatterns = [
    path("chat/completions", ChatView.as_view(), name="chat-completions"),
    path("responses", ResponsesView.as_view(), name="responses"),
    path("models", ModelsView.as_view(), name="models"),
    path("<anything:rest>", PassingView.as_view(), name="passed-on"),
]
