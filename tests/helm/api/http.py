"""The API server's HTTP: paths, queries, the kinds of body, and watches."""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.helm.api.admission import ApiError
from tests.helm.api.apply import ApplyConflictError, Owners, apply, note_update
from tests.helm.api.discovery import Resource, discovery
from tests.helm.api.merge import UnknownDirectiveError, json_merge, strategic_merge
from tests.helm.api.protobuf import MAGIC, UnreadableProtobufError, decode
from tests.helm.api.selectors import has_fields, has_labels
from tests.helm.api.storage import Key, Storage
from tests.helm.manifests import Object

__all__ = ["HttpServer"]

_WATCH_S = 60.0
_JSON = "application/json"


class HttpServer(ThreadingHTTPServer):
    """Serves a storage on a free port of the loopback interface."""

    daemon_threads = True
    block_on_close = False  # connections that clients keep open would hold up the end

    def __init__(self, storage: Storage) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.storage = storage
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless it is that a client has seen enough of a watch and left."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other's acknowledgement
    server: HttpServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the base class
        pass

    def do_GET(self) -> None:
        self._answer(self._read)

    def do_POST(self) -> None:
        self._answer(lambda: self._write("create"))

    def do_PUT(self) -> None:
        self._answer(lambda: self._write("update"))

    def do_PATCH(self) -> None:
        self._answer(lambda: self._write("patch"))

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def _answer(self, act: Callable[[], tuple[int, Object | str] | None]) -> None:
        url = urlsplit(self.path)
        self.question = {key: values[-1] for key, values in parse_qs(url.query).items()}
        self.parts = url.path.strip("/").split("/")
        # Read whatever comes of it: what is left would be taken for the next request of the connection.
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            answer = act()
        except ApiError as error:
            answer = error.code, error.status()
        except (UnknownDirectiveError, UnreadableProtobufError) as error:
            answer = 415, ApiError(415, "UnsupportedMediaType", str(error)).status()
        except ConnectionError:
            raise
        except Exception:  # what the client then says leads to the fault
            answer = 500, ApiError(500, "InternalError", traceback.format_exc()).status()
        if answer is None:
            return
        code, content = answer
        sent = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if isinstance(content, str) else _JSON)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        self.wfile.flush()

    def _route(self) -> tuple[Resource, str, str, str]:
        """Return the resource, namespace, name and subresource of the path; empty where it has none."""
        skip = 2 if self.parts[0] == "api" else 3
        base, rest = "/".join(self.parts[:skip]), self.parts[skip:]
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        found = [one for one in self.server.storage.resources if one.path == base and rest[:1] == [one.plural]]
        if not found or len(rest) > 3:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        name, below = [*rest[1:], "", ""][:2]
        return found[0], namespace if found[0].is_namespaced else "", name, below

    def _read(self) -> tuple[int, Object | str] | None:
        storage = self.server.storage
        about = discovery("/".join(self.parts), storage.resources, storage.version)
        if about is not None:
            return 200, about
        if self.parts == ["openapi", "v2"]:
            return 200, ""  # as protobuf, a document without definitions
        return self._read_objects()

    def _read_objects(self) -> tuple[int, Object | str] | None:
        storage = self.server.storage
        of, namespace, name, below = self._route()
        if below == "log" and of.kind == "Pod":
            storage.get(Key(of, namespace, name))
            return 200, ""  # containers do not run
        if below:
            raise ApiError(404, "NotFound", f"no {of.plural}/{below} here")
        if name:
            return 200, storage.get(Key(of, namespace, name))
        if self.question.get("watch") in ("1", "true"):
            self._watch(of, namespace)
            return None
        found, version = storage.find(self._wanted(of, namespace))
        listed = {"kind": f"{of.kind}List", "apiVersion": of.api_version, "items": found}
        return 200, listed | {"metadata": {"resourceVersion": str(version)}}

    def _wanted(self, of: Resource, namespace: str) -> Callable[[Key, Object], bool]:
        labels, fields = self.question.get("labelSelector", ""), self.question.get("fieldSelector", "")

        def wanted(key: Key, one: Object) -> bool:
            is_here = key.resource == of and namespace in ("", key.namespace)
            return is_here and has_labels(one, labels) and has_fields(one, fields)

        return wanted

    def _watch(self, of: Resource, namespace: str) -> None:
        wanted, storage = self._wanted(of, namespace), self.server.storage
        ends_s = time.monotonic() + min(_WATCH_S, float(self.question.get("timeoutSeconds", _WATCH_S)))
        version = int(self.question.get("resourceVersion") or 0)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", _JSON)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

        def send(kind: str, found: Object) -> None:
            line = json.dumps({"type": kind, "object": found}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()

        self.wfile.flush()
        if not version or self.question.get("sendInitialEvents") == "true":
            found, version = storage.find(wanted)
            for one in found:
                send("ADDED", one)
        if self.question.get("sendInitialEvents") == "true":
            ended = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
            send("BOOKMARK", {"kind": of.kind, "apiVersion": of.api_version, "metadata": ended})
        while time.monotonic() < ends_s and not self.server.closing.is_set():
            events, version = storage.events_since(version, wait_s=0.2)
            for event in events:
                if wanted(event.key, event.found):
                    send(event.kind, event.found)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _content(self) -> Object:
        if self.body.startswith(MAGIC):
            return decode(self.body)
        try:
            content = yaml.safe_load(self.body) if "yaml" in self._type() else json.loads(self.body)
        except (ValueError, yaml.YAMLError) as error:
            raise ApiError(400, "BadRequest", f"the body cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise ApiError(415, "UnsupportedMediaType", f"{self._type()} is not understood here")
        return content

    def _type(self) -> str:
        return str(self.headers.get("Content-Type") or _JSON)

    def _write(self, verb: str) -> tuple[int, Object]:
        of, namespace, name, below = self._route()
        if below:
            raise ApiError(404, "NotFound", f"no {of.plural}/{below} here")
        content = self._content()
        is_apply = verb == "patch" and "apply-patch" in self._type()
        name = name or content["metadata"]["name"]
        # Without a name of its own, a client is known by the first word of its User-Agent.
        agent = str(self.headers.get("User-Agent") or "unknown").split("/", maxsplit=1)[0]
        manager = self.question.get("fieldManager") or agent

        def change(before: Object | None, owners: Owners) -> Object:
            if verb == "create" and before is not None:
                raise ApiError(409, "AlreadyExists", f'{of.plural} "{name}" already exists')
            if verb != "create" and before is None and not is_apply:
                raise ApiError(404, "NotFound", f'{of.plural} "{name}" not found')
            typed = {"apiVersion": of.api_version, "kind": of.kind} | content
            if is_apply:
                force = self.question.get("force") == "true"
                try:
                    return apply(before, typed, owners, manager=manager, force=force)
                except ApplyConflictError as error:
                    raise ApiError(409, "Conflict", f"Apply failed: {error}") from error
            after = typed
            if verb == "patch" and "strategic" in self._type():
                after = strategic_merge(of.kind, before, content)
            elif verb == "patch":
                after = json_merge(before, content)
            note_update(before, after, owners, manager=manager)
            return after

        verb_seen = "apply" if is_apply else verb
        key, dry_run = Key(of, namespace, name), "dryRun" in self.question
        after, is_new = self.server.storage.write(key, verb_seen, change, dry_run=dry_run)
        return 201 if is_new else 200, after

    def _delete(self) -> tuple[int, Object]:
        of, namespace, name, below = self._route()
        if below or not name:
            raise ApiError(405, "MethodNotAllowed", "one object at a time is deleted here")
        options = self._content() if self.body else {}
        propagation = options.get("propagationPolicy") or self.question.get("propagationPolicy")
        dry_run = "dryRun" in self.question or bool(options.get("dryRun"))
        self.server.storage.delete(Key(of, namespace, name), propagation=propagation, dry_run=dry_run)
        return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
