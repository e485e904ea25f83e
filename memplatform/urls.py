"""Every address of the platform."""

from django.contrib import admin
from django.urls import include, path

from channels_app.bots import admin as bots
from channels_app.doors.oauth import admin as consent
from memories.admin import imports, own_views, quarantine, review
from memories.api import errors
from memplatform import lab, metrics
from memplatform.http.errors import server_error
from memplatform.operations import health
from memplatform.site import first_day, front, home, joining, log
from memplatform.transfer.stream import ExportView
from sessions_app.admin import model_cost

handler400, handler404, handler500 = errors.bad_request, errors.page_not_found, server_error
urlpatterns = [
    path("", front.page, name="front"),
    path("api/v1/", include("channels_app.api.urls")),
    path("api/v1/", include("sessions_app.api.urls")),
    path("api/v1/", include("memories.api.urls")),
    path("api/v1/export", ExportView.as_view(), name="export"),
    path("api/mem0/", include("channels_app.doors.mem0.urls")),
    path("v1/", include("channels_app.doors.openai.urls")),
    path("", include("channels_app.api.oauth")),
    path("", include("channels_app.api.platforms")),
    path("chat/<uuid:uid>/", include("channels_app.api.chat_page")),
    path("api/schema", front.Description.as_view(), name="schema"),
    path("api/docs", front.ApiPages.as_view(url_name="schema"), name="docs"),
    path("join/", joining.page, name="join"),
    path("livez", health.livez),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics),
    path("admin/language/", include("django.conf.urls.i18n")),
    path("admin/review/", admin.site.admin_view(review.page), name="review"),
    path("admin/review/due/", admin.site.admin_view(review.due), name="review_due"),
    path("admin/quarantine/", admin.site.admin_view(quarantine.listing), name="quarantine"),
    path("admin/quarantine/new/", admin.site.admin_view(quarantine.begin), name="quarantine_new"),
    path("admin/quarantine/<uuid:uid>/", admin.site.admin_view(quarantine.contents), name="quarantine_one"),
    path("admin/own-views/", admin.site.admin_view(own_views.keep), name="own_views"),
    path("admin/clock/", admin.site.admin_view(home.choose_zone), name="clock"),
    path("admin/attention/", admin.site.admin_view(home.act), name="attention"),
    path("admin/first-day/", admin.site.admin_view(first_day.act), name="first_day"),
    path("admin/connect/", admin.site.admin_view(consent.page), name="oauth_authorize"),
    path("admin/connect-a-bot/", admin.site.admin_view(bots.page), name="connect_bot"),
    path(
        "admin/connect-a-bot/<int:key>/<int:channel>/<int:after>/",
        admin.site.admin_view(bots.status),
        name="connect_bot_status",
    ),
    path("admin/import/", admin.site.admin_view(imports.page), name="import"),
    path("admin/model-cost/", admin.site.admin_view(model_cost.page), name="model_cost"),
    path("admin/log/", admin.site.admin_view(log.page), name="log"),
    path("admin/lab/", admin.site.admin_view(lab.page), name="lab"),
    path("admin/", admin.site.urls),
]
