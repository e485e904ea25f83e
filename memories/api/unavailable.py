"""The error of a call that needs the database, which is away."""

from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException


class DatabaseAway(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = _("The database does not answer; try again shortly.")
    default_code = "database_unavailable"
    wait = 5
