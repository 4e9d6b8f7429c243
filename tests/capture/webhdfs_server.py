"""A server of WebHDFS's protocol on this machine, for the tests: what reading asks for.

Spec: Hadoop's WebHDFS REST API, the operations LISTSTATUS, GETFILESTATUS and OPEN.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"
#: Where OPEN sends a client: the data are on other nodes than the names.
NODE = "/node"


class Cluster:
    """Files by path, each with its bytes and the time (ms) when it was written."""

    def __init__(self) -> None:
        self.address = ""
        self.files: dict[str, tuple[bytes, int]] = {}
        self.opened: list[tuple[str, int, int]] = []

    def status(self, path: str, suffix: str = "") -> dict[str, Any] | None:
        """What the names' node says of a file or folder."""
        file_status = {
            "pathSuffix": suffix,
            "owner": "amqp",
            "permission": "644",
            "blockSize": 1 << 27,
        }
        if path in self.files:
            data, written = self.files[path]
            return {**file_status, "type": "FILE", "length": len(data), "modificationTime": written}
        if any(name.startswith(f"{path.rstrip('/')}/") for name in self.files):
            return {**file_status, "type": "DIRECTORY", "length": 0, "modificationTime": 0}
        return None

    def statuses(self, path: str) -> list[dict[str, Any]]:
        """What it says of what is in a folder; of a file, of that."""
        if path in self.files:
            return [self.status(path) or {}]
        below = f"{path.rstrip('/')}/"
        names = {
            name.removeprefix(below).split("/")[0] for name in self.files if name.startswith(below)
        }
        return [self.status(below + name, name) or {} for name in sorted(names)]


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers of the names' node, and of the data's."""

        def do_GET(self) -> None:
            """One request."""
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path.startswith(NODE):
                path = unquote(parts.path.removeprefix(NODE))
                start, length = int(query["offset"]), int(query["length"])
                cluster.opened.append((path, start, length))
                self.answer(200, cluster.files[path][0][start : start + length])
                return
            path = unquote(parts.path.removeprefix(PREFIX))
            status = cluster.status(path)
            if status is None:
                problem = {"exception": "FileNotFoundException", "message": f"{path} is not there"}
                self.tell(404, {"RemoteException": problem})
            elif query["op"] == "OPEN":
                self.answer(307, b"", f"{cluster.address}{NODE}{path}?{parts.query}")
            elif query["op"] == "GETFILESTATUS":
                self.tell(200, {"FileStatus": status})
            else:
                self.tell(200, {"FileStatuses": {"FileStatus": cluster.statuses(path)}})

        def tell(self, code: int, what: Any) -> None:
            """JSON."""
            self.answer(code, json.dumps(what).encode())

        def answer(self, code: int, data: bytes, location: str = "") -> None:
            """Bytes, or where they are."""
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Nothing is said."""

    return Handler


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """One that serves."""
    fake_cluster = Cluster()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake_cluster)) as server:
        fake_cluster.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield fake_cluster
        finally:
            server.shutdown()
            thread.join()
