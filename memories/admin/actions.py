"""Actions: what a person may do to rows of the admin, each declared once.

From an `Action` follow the button on the page of a row, the entry in the menu of the list, the address, the page that
asks, the messages and the note in the audit log. Nothing happens before an answer with `confirmed` is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from unfold.enums import ActionVariant

from memories.admin.auditing import note
from memories.admin.pages import admin_url, own_page, return_url, with_return_url
from memories.audit.models import AuditEvent
from memories.exceptions import PlatformError

#: Rows of a list an action takes at a time, and of these the rows its page names.
CHOSEN_MOST = 500
ROWS_SHOWN = 10


class Place(Enum):
    """Where a page leads to an action, besides the menu of the list."""

    BUTTON = auto()  # on the page of a row
    LIST = auto()  # above the list
    ADDRESS = auto()  # a link of our own
    NOWHERE = auto()  # the menu of the list alone


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a page asks; where title or button say nothing, they are the label of the action."""

    text: Any = ""
    title: Any = ""
    button: Any = ""
    rows: Iterable[Any] | None = None  # None: those the action is about
    count: int | None = None  # of all of them, where `rows` are only the first
    counts: Sequence[Any] = ()  # each a label, values with their numbers, and how many values are not named
    hidden: Sequence[tuple[str, Any]] = ()
    is_grave: bool = False
    template: str = "admin/memories/confirm.html"
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an action: shown on the next page, and noted where the action names an event."""

    text: str = ""
    more: Sequence[str] = ()  # that was done besides
    info: str = ""
    warning: str = ""
    errors: Sequence[str] = ()
    address: str = ""  # of the next page; empty: back
    about: Model | None = None  # what the note is about; None: the row
    noted: str = ""  # in words, which then stand in the history of the row, too
    details: Mapping[str, Any] | None = None
    later: Callable[[], Outcome] | None = None  # what follows the note, and may be refused though this is done


Answer = str | Outcome | HttpResponse


@dataclass
class ActionCall:
    """One request for an action: by whom, of which rows, and what was answered."""

    action: Action
    admin: Any
    request: HttpRequest
    row: Any = None  # whose page it is asked on
    ticked: QuerySet[Any] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else stands in the address
    form: Any = None

    @cached_property
    def now(self) -> datetime:
        return timezone.now()

    @property
    def actor(self) -> str:
        """The operator as history names them."""
        return f"user:{self.request.user.get_username()}"

    @property
    def data(self) -> dict[str, Any]:
        """What a valid form says."""
        answer: dict[str, Any] = self.form.cleaned_data
        return answer

    @property
    def reply(self) -> Any:
        """What answers the page that asks; None: nothing yet."""
        return self.request.POST if self.request.method == "POST" and "confirmed" in self.request.POST else None

    @cached_property
    def rows(self) -> Any:
        return self.action.rows(self)

    @cached_property
    def back(self) -> str:
        return self.action.back(self)

    def bound(self, kind: type[forms.Form], **initial: Any) -> Any:
        """A form of this kind, bound once the answer is given."""
        return kind(initial=initial) if self.reply is None else kind(self.reply)


def chosen(call: ActionCall) -> QuerySet[Any]:
    """The row, or the first of those that were ticked, as a query that can be locked."""
    rows = call.admin.model._default_manager
    if call.ticked is None:
        return rows.filter(pk=call.row.pk)
    first = list(call.ticked.order_by("pk").values_list("pk", flat=True)[:CHOSEN_MOST])
    return rows.filter(pk__in=first).order_by("pk")


def to_list(call: ActionCall) -> str:
    """The list, as it was narrowed."""
    return return_url(call.request, admin_url(call.admin.model))


def to_row(call: ActionCall) -> str:
    """The page of the row; where rows were ticked, the list."""
    if call.row is None:
        return to_list(call)
    return with_return_url(call.request, admin_url(call.row, "change", call.row.pk))


@dataclass(frozen=True, kw_only=True)
class Action:
    """One thing a person may do to rows: asked first, done once it is confirmed."""

    name: str  # of the method; the address is named after it
    label: Any  # of the button
    right: str  # a right, or Django's word for one: `admits` of the admin reads it
    act: Callable[[ActionCall], Answer]  # a text stands on the next page; an HttpResponse is shown
    question: Question | Callable[[ActionCall], Question] | None = None  # None: done at once
    listed: Any = None  # its label in the menu of the list; None: not for ticked rows
    listed_name: str = ""  # else f"{name}_chosen"
    place: Place = Place.BUTTON
    path: str = ""  # where it is not the name; behind the row's address, unless it begins with a slash
    icon: str = ""
    variant: ActionVariant = ActionVariant.DEFAULT
    form: Callable[[ActionCall], forms.Form | None] | None = None
    fits: Callable[[Any], bool] | None = None  # whether the button is shown on this row as it stands
    refuses: Callable[[ActionCall], Answer] | None = None  # what these rows together are refused with
    rows: Callable[[ActionCall], Any] = chosen
    back: Callable[[ActionCall], str] = to_list
    audit: AuditEvent | None = None  # None: its rows have a history, a batch, or a note the verb writes


def run(call: ActionCall) -> HttpResponse:
    """Refuse, ask, or do it and say what became of it; each verb has its own transaction."""
    action = call.action
    try:
        if action.refuses and (refused := action.refuses(call)):
            if isinstance(refused, HttpResponse):
                return refused
            return _next_page(call, Outcome(errors=[refused]) if isinstance(refused, str) else refused)
        if action.question:
            call.form = action.form(call) if action.form else None
            if call.reply is None or (call.form is not None and not call.form.is_valid()):
                question = action.question
                return question_page(call, question if isinstance(question, Question) else question(call))
        answer = action.act(call)
        if isinstance(answer, HttpResponse):
            return answer
        outcome = Outcome(text=answer) if isinstance(answer, str) else answer
        if action.audit:
            about = outcome.about or call.row
            if outcome.noted:
                call.admin.log_as(call.request, action.audit, about, outcome.noted)
            else:
                note(call.request, action.audit, about, details=outcome.details)
        return _next_page(call, outcome.later() if outcome.later else outcome)
    except PlatformError as refusal:
        return _next_page(call, Outcome(errors=[str(refusal)]))


def question_page(call: ActionCall, question: Question) -> HttpResponse:
    """The page that asks: the first of the rows it is about, and the form beside the question."""
    rows = list(call.rows if question.rows is None else question.rows)
    # The hidden fields make an answer mean the rows that were ticked in the list
    data = call.request.POST
    ticked = [(ACTION_CHECKBOX_NAME, pk) for pk in data.getlist(ACTION_CHECKBOX_NAME)]
    ticked += [(name, data[name]) for name in ("action", "select_across", "index") if name in data]
    context = {
        "title": question.title or call.action.label,
        "text": question.text,
        "button": question.button or call.action.label,
        "back": call.back,
        "rows": rows[:ROWS_SHOWN],
        "counts": question.counts,
        "more": max((len(rows) if question.count is None else question.count) - ROWS_SHOWN, 0),
        "is_grave": question.is_grave,
        "hidden": [*ticked, *question.hidden],
        "form": call.form,
        **question.context,
    }
    return own_page(call.request, question.template, context, call.admin)


def _next_page(call: ActionCall, outcome: Outcome) -> HttpResponse:
    """On to the next page, which says what became of it."""
    say(call.request, outcome)
    return HttpResponseRedirect(outcome.address or call.back)


def say(request: HttpRequest, outcome: Outcome) -> None:
    """What became of something, as messages on the next page."""
    for level, texts in (
        (messages.SUCCESS, [outcome.text, *outcome.more]),
        (messages.INFO, [outcome.info]),
        (messages.WARNING, [outcome.warning]),
        (messages.ERROR, outcome.errors),
    ):
        for text in filter(None, texts):
            messages.add_message(request, level, text)


class WithActions:
    """A ModelAdmin whose actions are those it declares."""

    declared: Sequence[Action] = ()
    admin_site: Any
    model: Any
    opts: Any
    reach: Any
    get_object: Any
    get_unfold_action: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "declared" not in cls.__dict__:
            return
        attributes: dict[str, Any] = {"actions": [], "actions_list": [], "actions_detail": []}
        for action in cls.declared:
            if action.place is not Place.NOWHERE:
                attributes[action.name] = _view(action)
            if action.listed:
                name = action.listed_name or f"{action.name}_chosen"
                attributes["actions"].append(name)
                attributes[name] = _of_ticked(action, name)
            if action.place in (Place.BUTTON, Place.LIST):
                attributes["actions_detail" if action.place is Place.BUTTON else "actions_list"].append(action.name)
        for name, value in attributes.items():
            setattr(cls, name, value)

    def get_urls(self) -> list[Any]:
        """With the addresses that only pages of our own lead to."""
        pages = [
            path(
                action.path[1:] if action.path.startswith("/") else f"<path:object_id>/{action.path or action.name}/",
                self.admin_site.admin_view(getattr(self, action.name)),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{action.name}",
            )
            for action in self.declared
            if action.place is Place.ADDRESS
        ]
        return [*pages, *super().get_urls()]  # type: ignore[misc]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """The buttons that make sense for this row as it stands, for those who may press them."""
        if not self.declared:
            return super().get_actions_detail(request, object_id)  # type: ignore[misc]
        row = self.get_object(request, unquote(str(object_id)))
        if row is None:
            return []
        return [
            self.get_unfold_action(action.name)
            for action in self.declared
            if action.place is Place.BUTTON
            and (action.fits is None or action.fits(row))
            and getattr(self, f"has_{action.right}_permission")(request, row)
        ]


def _view(action: Action) -> Callable[..., HttpResponse]:
    """The method behind the address of an action."""

    def view(self: Any, request: HttpRequest, object_id: str | None = None, **arguments: Any) -> HttpResponse:
        row = None if object_id is None else self.reach(request, object_id, action.right)
        return run(ActionCall(action, self, request, row=row, arguments=arguments))

    view.__name__ = action.name
    return _with_attributes(view, action, short_description=action.label, needs=action.right)


def _of_ticked(action: Action, name: str) -> Callable[..., HttpResponse]:
    """The method behind the entry of an action in the menu of the list."""

    def of_ticked(self: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        return run(ActionCall(action, self, request, ticked=queryset))

    of_ticked.__name__ = name
    return _with_attributes(of_ticked, action, short_description=action.listed)


def _with_attributes(method: Any, action: Action, **more: Any) -> Any:
    """With what Django, unfold and the guard of the site read of it."""
    marks = {
        "allowed_permissions": [action.right],
        "icon": action.icon,
        "variant": action.variant,
        "attrs": {},
        "original_function_name": action.name,
        **({"url_path": action.path} if action.path else {}),
    }
    for mark, value in (marks | more).items():
        setattr(method, mark, value)
    return method
