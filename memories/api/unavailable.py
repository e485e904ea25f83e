"""The errors of a call that needs the database, which is away, or room on a disk."""

from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException


class DatabaseAway(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = _("The database does not answer; try again shortly.")
    default_code = "database_unavailable"
    wait = 5


class DiskIsFull(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = _("The disk is full: nothing can be stored until there is room. Memories are read as before.")
    default_code = "disk_full"
    wait = 30
