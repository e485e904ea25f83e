from django.apps import AppConfig


class MemplatformConfig(AppConfig):
    name = "memplatform"
    verbose_name = "Platform"
