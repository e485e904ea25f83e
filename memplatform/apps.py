from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.core.checks import register


class MemplatformConfig(AppConfig):
    name = "memplatform"
    verbose_name = "Platform"

    def ready(self) -> None:
        from memplatform.checks import CHECKS

        for check, tags in CHECKS.items():
            register(check, *tags)


class SiteConfig(admin_apps.AdminConfig):
    """Django's admin, on our site."""

    default = False
    default_site = "memplatform.site.Site"
