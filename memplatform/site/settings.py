"""Settings of the admin's look (django-unfold)."""

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

UNFOLD = {
    "SITE_TITLE": "memplatform",
    "SITE_HEADER": "memplatform",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("memplatform/icon.svg")}],
    "ENVIRONMENT": "memplatform.site.site.time_zone_badge",
    "SHOW_LANGUAGES": True,
    "SHOW_VIEW_ON_SITE": False,
    "ACCOUNT": {
        "navigation": [
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
            {"title": _("Second factor"), "link": reverse_lazy("admin:second_factor")},
        ]
    },
    "DASHBOARD_CALLBACK": "memplatform.site.home.page",
    "STYLES": [lambda request: static("memplatform/admin.css"), lambda request: static("memplatform/home.css")],
    "SCRIPTS": [lambda request: static("memplatform/admin.js")],
    "SIDEBAR": {"show_search": True, "command_search": True, "navigation": []},
    "COLORS": {
        "primary": {  # teal: calm, unlike the red and orange of what needs attention; white on 600 is readable
            "50": "#f0fdfa",
            "100": "#ccfbf1",
            "200": "#99f6e4",
            "300": "#5eead4",
            "400": "#2dd4bf",
            "500": "#14b8a6",
            "600": "#0f766e",
            "700": "#115e59",
            "800": "#134e4a",
            "900": "#0f3f3c",
            "950": "#042f2e",
        }
    },
}
