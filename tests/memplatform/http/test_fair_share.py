"""Workspaces take turns when more calls come than can be worked on."""

import json
import threading
from functools import partial
from io import BytesIO
from typing import Any

from django.test import RequestFactory
from django.utils import translation

from memories.api.access import WORKSPACE
from memplatform.http.wsgi import FairShare, Queue
from tests.support.house import until


def in_line(queue: Queue, group: str, served: list[str]) -> threading.Thread:
    """Somebody who waits; said in `served` when it is their turn."""
    before = len(queue.waiting[group])
    thread = threading.Thread(target=lambda: served.append(group) if queue.enter(group) else served.append("refused"))
    thread.start()
    until(lambda: len(queue.waiting.get(group, ())) > before or not thread.is_alive(), 5)
    return thread


def has(served: list[str], count: int) -> bool:
    return len(served) == count


def test_who_floods_waits_behind_itself_and_a_neighbour_is_next() -> None:
    queue, served = Queue(slots=2, most_running=2), list[str]()
    assert queue.enter("flood") and queue.enter("flood")
    threads = [in_line(queue, group, served) for group in ("flood", "flood", "flood", "neighbour")]
    for count in range(1, 5):
        queue.leave("flood" if count != 2 else "neighbour")
        until(partial(has, served, count), 5)
    for thread in threads:
        thread.join()
    assert served == ["neighbour", "flood", "flood", "flood"]


def test_one_workspace_never_has_all_slots() -> None:
    queue = Queue(slots=3, most_running=2)
    assert queue.enter("flood") and queue.enter("flood")
    assert not queue.enter("flood", seconds=0)
    assert queue.enter("neighbour", seconds=0)


def test_who_waits_in_too_long_a_line_is_refused_at_once_and_others_are_not() -> None:
    queue, served = Queue(slots=1, most_running=1, most_waiting=1), list[str]()
    assert queue.enter("flood")
    thread = in_line(queue, "flood", served)
    assert not queue.enter("flood")
    queue.leave("flood")
    thread.join()
    queue.leave("flood")
    assert served == ["flood"]
    assert queue.enter("neighbour", seconds=0)


def test_nothing_is_remembered_of_groups_that_are_gone() -> None:
    queue = Queue()
    for number in range(100):
        assert queue.enter(number)
        queue.leave(number)
    assert (dict(queue.waiting), queue.served, dict(queue.running)) == ({}, {}, {})


def application(environ: dict[str, Any], start: Any) -> list[bytes]:
    environ[WORKSPACE] = environ["HTTP_AUTHORIZATION"][-1]
    start("200 OK", [])
    return [b"fine"]


def call(app: FairShare, key: str, path: str = "/api/v1/recall") -> tuple[str, bytes]:
    results: list[str] = []
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": path, "HTTP_AUTHORIZATION": key, "wsgi.input": BytesIO()}
    body = b"".join(app(environ, lambda status, headers, *_: results.append(status)))  # type: ignore[arg-type]
    return results[0], body


def test_keys_of_one_workspace_share_its_turn_and_what_waits_too_long_in_line_gets_429() -> None:
    queue = Queue(most_waiting=0)
    queue.most_waiting = 1
    app = FairShare(application, queue)
    assert call(app, "Bearer first 1") == call(app, "Bearer second 1") == call(app, "Bearer other 2")
    queue.most_waiting = 0  # as if as many waited as may
    status, body = call(app, "Bearer second 1")
    assert status == "429 Too Many Requests"
    assert json.loads(body)["errors"][0]["code"] == "throttled"
    assert call(app, "Bearer second 1", path="/livez")[0] == "200 OK"


def test_strangers_that_knock_at_the_api_hold_up_no_page_of_people() -> None:
    queue = Queue(slots=2, most_running=1, most_waiting=1)
    app = FairShare(application, queue)
    assert queue.enter("")  # a stranger is worked on
    thread = in_line(queue, "", [])  # and another waits
    assert call(app, "Bearer unknown")[0] == "429 Too Many Requests"
    assert call(app, "Cookie", path="/admin/")[0] == "200 OK"
    queue.leave("")
    thread.join()
    queue.leave("")


def test_who_is_refused_reads_it_in_the_language_they_asked_for_whoever_had_the_thread_before() -> None:
    share = FairShare(lambda _environ, _start: [], Queue(slots=1, most_running=1, most_waiting=0))
    for active, language, words in (("zh-hans", "en", "Too many calls"), ("en", "zh-hans", "太多")):
        environ = RequestFactory().get("/api/v1/entries", headers={"accept-language": language}).environ
        with translation.override(active):
            (body,) = share(environ, lambda *_: lambda _data: None)
            assert translation.get_language() == active
        assert words in json.loads(body)["errors"][0]["detail"]
