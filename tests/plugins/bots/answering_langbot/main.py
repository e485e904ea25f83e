"""A plugin of LangBot with a runner of its own, as somebody writes it by the SDK's template."""

from langbot_plugin.api.definition.plugin import BasePlugin


class Answering(BasePlugin):
    pass
