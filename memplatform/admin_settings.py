"""Settings of the admin's look (django-unfold)."""

from django.templatetags.static import static

UNFOLD = {
    "SITE_TITLE": "memplatform",
    "SITE_HEADER": "memplatform",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("memplatform/icon.svg")}],
    "ENVIRONMENT": "memplatform.zone.shown",
    "SHOW_LANGUAGES": True,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "memplatform.home.page",
    "STYLES": [lambda request: static("memplatform/admin.css")],
    "SIDEBAR": {"show_search": True, "command_search": True, "navigation": []},
    "COLORS": {
        "primary": {  # teal: calm, and unlike the red and orange of what needs attention
            "50": "#f0fdfa",
            "100": "#ccfbf1",
            "200": "#99f6e4",
            "300": "#5eead4",
            "400": "#2dd4bf",
            "500": "#14b8a6",
            "600": "#0d9488",
            "700": "#0f766e",
            "800": "#115e59",
            "900": "#134e4a",
            "950": "#042f2e",
        }
    },
}
