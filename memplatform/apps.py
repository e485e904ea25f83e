"""The platform's own Django app, and the admin site it puts in place of Django's."""

from typing import Any

from django.apps import AppConfig, apps
from django.contrib import admin
from django.contrib.admin import apps as admin_apps
from django.contrib.admin.checks import check_dependencies
from django.core.checks import CheckMessage, Tags, register
from django.utils.translation import gettext_lazy as _

from memories import telemetry

#: The apps whose fields and rows the admin names in the operator's language.
OURS = ("memories", "sessions_app", "channels_app", "operations")


class MemplatformConfig(AppConfig):
    name = "memplatform"
    verbose_name = _("Platform")

    def ready(self) -> None:
        from memplatform.checks import CHECKS  # the models it asks are loaded by now

        for check, tags in CHECKS.items():
            register(check, *tags)
        if telemetry.is_on():
            from django_q.signals import pre_enqueue

            pre_enqueue.connect(_hand_on_trace)


def _hand_on_trace(*, task: dict[str, Any], **_: Any) -> None:
    """A task is part of the trace of whoever asks for it (memplatform.processes.cluster goes on with it)."""
    if parent := telemetry.traceparent():
        task["traceparent"] = parent


def pages_are_whole(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What is wrong with the pages of the admin, which are loaded for it: Django's looks at sites that are made."""
    problems: list[CheckMessage] = admin.site.check(app_configs)
    return problems


class SiteConfig(admin_apps.SimpleAdminConfig):
    """Django's admin, on our site. Its pages are loaded by whoever shows or checks them (memplatform.site.site)."""

    default = False
    default_site = "memplatform.site.site.Site"

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(pages_are_whole, Tags.admin)
        apps.get_app_config("django_q").verbose_name = _("Machine room")
        for app in OURS:
            for model in apps.get_app_config(app).get_models():
                # A field without a name of its own, as most foreign keys, is called by what it points to
                for field in model._meta.concrete_fields:
                    if field._verbose_name is None:  # type: ignore[attr-defined]
                        field.verbose_name = _(field.name.replace("_", " "))
