"""Every address of the platform."""

from django.contrib import admin
from django.urls import include, path

from memplatform import health, metrics

urlpatterns = [
    path("api/v1/", include("channels_app.api.urls")),
    path("api/v1/", include("memories.api.urls")),
    path("livez", health.livez),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
    path("admin/", admin.site.urls),
]
