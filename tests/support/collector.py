"""A collector of traces on this machine: it takes OTLP over HTTP and keeps the spans."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """A span as it was sent, with the service that sent it."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]
    has_events: bool


class Collector:
    """Its address, and every span that came."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        spans = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                spans.extend(_read(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


def _read(body: bytes) -> Iterator[Span]:
    for of_service in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = next(pair.value.string_value for pair in of_service.resource.attributes if pair.key == "service.name")
        for scope in of_service.scope_spans:
            for span in scope.spans:
                attributes = {pair.key: str(pair.value) for pair in span.attributes}
                ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
                yield Span(service, span.name, *ids, attributes, bool(span.events))


@contextmanager
def running() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()
        thread.join()
