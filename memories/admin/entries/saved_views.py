"""The saved views of the list of entries."""

from collections.abc import Mapping
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.admin.filters import due_condition, last_night_condition, resolve, state_condition
from memories.admin.saved_views import SavedView
from memories.choices import Category, Due
from memories.entries import CONTRADICTED_BY
from memories.models import EntryAccess, Slot, Workspace
from memories.models.entry import SECRET_SUBTYPE
from memories.models.state import LIVE, State

#: What was checked longer ago is worth another look.
CHECKED_LONG_AGO = timedelta(days=180)


def _is_due(request: HttpRequest) -> Q:
    over, review = due_condition(Due.OVER), due_condition(Due.REVIEW)
    return resolve(over, request) | resolve(review, request)


def _is_disputed(request: HttpRequest) -> Q:
    """Live, with something newer against it; the workspaces are named because the index of slots begins with them."""
    marks = Slot.objects.filter(workspace__in=Workspace.objects.values("pk"), name=CONTRADICTED_BY)
    return LIVE & Q(pk__in=marks.values("entry"))


def _was_never_recalled(request: HttpRequest) -> Q:
    return LIVE & ~Q(Exists(EntryAccess.objects.filter(entry=OuterRef("pk"), access_count__gt=0)))


def _was_checked_long_ago(request: HttpRequest) -> Q:
    return LIVE & Q(verified_at__lte=timezone.now() - CHECKED_LONG_AGO)


SAVED_VIEWS: Mapping[str, SavedView] = {
    "live": SavedView(State.LIVE.label, state_condition(State.LIVE), has_one_state=True),
    "due": SavedView(State.DUE.label, _is_due),
    "last_night": SavedView(_("Expired last night"), last_night_condition, has_one_state=True),
    "archived": SavedView(State.ARCHIVED.label, state_condition(State.ARCHIVED), has_one_state=True),
    "pinned": SavedView(_("Pinned"), LIVE & Q(pinned=True)),
    "disputed": SavedView(_("Disputed"), _is_disputed),
    "never": SavedView(_("Never recalled"), _was_never_recalled),
    "secrets": SavedView(
        _("Looks like a secret"), LIVE & Q(category=Category.CREDENTIAL, subtype__startswith=SECRET_SUBTYPE)
    ),
    "checked": SavedView(_("Checked long ago"), _was_checked_long_ago),
}
