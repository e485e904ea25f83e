"""The page at `/`: the condition of the platform, and where everything is."""

from typing import Any, ClassVar

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from memories.api.fields import StrictSerializer, Word
from memories.staff.rights import is_staff
from memplatform.operations import health


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """For whoever opens the bare address: one sentence on the condition, and the addresses that lead on."""
    now = timezone.now()
    condition = health.examine(now)
    sentences = {
        "ok": _("Everything runs."),
        "behind": _("Everything runs; some work is behind its time."),
        "unavailable": _("Not ready to answer yet."),
    }
    links = [
        (reverse("admin:index"), _("Admin"), _("See, correct and restore what bots remember.")),
        (reverse("docs"), _("API"), _("Every call, to read and to try; with a login or a key.")),
        (reverse("readyz"), _("Health"), _("For load balancers and monitors.")),
    ]
    api = request.build_absolute_uri("/api/v1/")
    context = {"status": condition.status, "sentence": sentences[condition.status], "links": links, "api": api}
    return render(request, "front.html", context, status=503 if condition.missing else 200)


#: What `?format=` of the description names.
FORMATS: dict[str, type[BaseRenderer]] = {"json": OpenApiJsonRenderer2, "yaml": OpenApiYamlRenderer2}


class DescriptionQuery(StrictSerializer):
    """How the description is wanted."""

    format = Word(choices=list(FORMATS))


class Description(SpectacularAPIView):
    """The API in OpenAPI, for everybody: nothing in it is secret. It takes a second to make, and is made once."""

    schema = None
    authentication_classes = ()
    _made: ClassVar[dict[str, str | bytes]] = {}
    permission_classes = (AllowAny,)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:
        """As `?format=` asks, an error of it in JSON; else as the Accept header does."""
        if (name := request.query_params.get("format")) is None:
            return super().perform_content_negotiation(request, force)
        renderer = FORMATS.get(name, OpenApiJsonRenderer2)()
        return renderer, renderer.media_type

    def get(self, request: Request, *_args: Any, **_kwargs: Any) -> HttpResponse:
        if "format" in request.query_params:
            DescriptionQuery(data={"format": request.query_params["format"]}).is_valid(raise_exception=True)
        renderer = request.accepted_renderer
        body = self._made.get(renderer.media_type)
        if body is None:
            generator: Any = SchemaGenerator
            with override("en"):
                schema = dict(generator().get_schema(request=None, public=True))
            body = self._made[renderer.media_type] = renderer.render(schema, renderer_context={})
        return HttpResponse(body, content_type=renderer.media_type)


class ApiPages(SpectacularSwaggerSplitView):
    """The API to read and to try; a browser without a login is sent to it."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_browser = "text/html" in request.headers.get("Accept", "")
        if is_browser and not is_staff(request) and "Authorization" not in request.headers:
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        return super().dispatch(request, *args, **kwargs)
