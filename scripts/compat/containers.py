"""A stand-in for Docker's API whose containers are private RabbitMQ nodes of scripts/broker.py.

The suites of aiormq and aio-pika start their brokers as Docker containers, by HTTP requests of
their own to what DOCKER_HOST names. Answering those few requests lets the suites run as they are,
also the tests that kill and restart their broker. Every image is taken for RabbitMQ.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripts.broker import HOST, BrokerError, Node, base_folder, free_ports, say

TLS = """\
listeners.ssl.1 = {host}:{port}
ssl_options.cacertfile = {certs}/ca.pem
ssl_options.certfile = {certs}/server.pem
ssl_options.keyfile = {certs}/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
"""

Answer = tuple[int, Any]


class TlsNode(Node):
    """A private node that also listens for TLS, with the certificates that a suite brings."""

    def __init__(self, folder: Path, certs: Path | None) -> None:
        super().__init__(folder)
        self.certs = certs
        self.amqp_port, self.tls_port = free_ports(2)

    def write_files(self, port: int | None) -> None:
        """Add the TLS listener."""
        super().write_files(port)
        if self.certs is not None:
            text = TLS.format(host=HOST, port=self.tls_port, certs=self.certs)
            with (self.folder / "rabbitmq.conf").open("a") as config:
                config.write(text)

    def boot(self) -> None:
        """Start, or start again: the ports and the data stay."""
        self.start(port=self.amqp_port, attached=True)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        server = self.state.get("server")
        if server and self.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(server["pid"], signal.SIGKILL)
        self.stop()

    @property
    def ports(self) -> dict[str, list[dict[str, str]]]:
        """The ports as Docker tells them."""
        own = {"5672/tcp": self.amqp_port, "5671/tcp": self.tls_port}
        return {name: [{"HostIp": HOST, "HostPort": str(port)}] for name, port in own.items()}


@contextlib.contextmanager
def node(certs: Path | None = None) -> Iterator[TlsNode]:
    """A running node of its own, gone afterwards."""
    one = TlsNode(Path(tempfile.mkdtemp(prefix="run-", dir=base_folder())), certs)
    try:
        one.boot()
        yield one
    finally:
        one.stop()
        one.remove()


class Containers:
    """All containers and what runs in them."""

    def __init__(self, certs: Path) -> None:
        self.certs = certs
        self.nodes: dict[str, TlsNode] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, tuple[str, list[str]]] = {}
        self.count = 0

    def new_id(self, kind: str) -> str:
        """A name that was not given out before."""
        self.count += 1
        return f"{kind}{self.count}"

    def create(self, _match: re.Match[str], _body: Any) -> Answer:
        """Make a container; it does not run yet."""
        name = self.new_id("container")
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=base_folder()))
        self.nodes[name] = TlsNode(folder, self.certs)
        return 201, {"Id": name}

    def start(self, match: re.Match[str], _body: Any) -> Answer:
        """Start it and wait until it speaks AMQP."""
        node = self.nodes[match[1]]
        if not node.running():
            node.boot()
        return 204, None

    def inspect(self, match: re.Match[str], _body: Any) -> Answer:
        """The ports, the only thing that the suites look up."""
        return 200, {"NetworkSettings": {"Ports": self.nodes[match[1]].ports}}

    def stop(self, match: re.Match[str], _body: Any) -> Answer:
        """End it politely."""
        self.nodes[match[1]].stop()
        return 204, None

    def kill(self, match: re.Match[str], _body: Any) -> Answer:
        """End it at once."""
        self.nodes[match[1]].kill()
        return 204, None

    def remove(self, match: re.Match[str], _body: Any) -> Answer:
        """Forget it, files and all."""
        node = self.nodes.pop(match[1])
        node.stop()
        node.remove()
        return 204, None

    def prepare(self, match: re.Match[str], body: Any) -> Answer:
        """Note a command to run in a container."""
        name = self.new_id("run")
        command = body["Cmd"]
        if command[:1] != ["rabbitmqctl"]:
            return 400, {"message": "only rabbitmqctl is known here"}
        self.commands[name] = (match[1], command[1:])
        return 201, {"Id": name}

    def execute(self, match: re.Match[str], _body: Any) -> Answer:
        """Run a command that was noted, in the background."""
        container, arguments = self.commands[match[1]]
        state = self.runs[match[1]] = {"Running": True, "ExitCode": None}

        def run() -> None:
            code = 1
            try:
                code = self.nodes[container].ctl(arguments)
            finally:
                state.update(Running=False, ExitCode=code)

        threading.Thread(target=run, daemon=True).start()
        return 200, {}

    def state(self, match: re.Match[str], _body: Any) -> Answer:
        """Whether that command still runs, and how it ended."""
        return 200, self.runs[match[1]]

    def pull(self, _match: re.Match[str], _body: Any) -> Answer:
        """Nothing to fetch."""
        return 200, {}

    def close(self) -> None:
        """End everything."""
        for node in self.nodes.values():
            node.stop()
            shutil.rmtree(node.folder, ignore_errors=True)
        self.nodes.clear()

    def answer(self, method: str, path: str, body: Any) -> Answer:
        """What one request gives."""
        for verb, pattern, action in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and verb == method:
                try:
                    return action(self, match, body)
                except KeyError as error:
                    return 404, {"message": f"no such thing: {error}"}
                except BrokerError as error:
                    return 500, {"message": str(error)}
        return 404, {"message": f"{method} {path} is not answered here"}


ROUTES = (
    ("POST", "/images/create", Containers.pull),
    ("POST", "/containers/create", Containers.create),
    ("POST", "/containers/([^/]+)/start", Containers.start),
    ("POST", "/containers/([^/]+)/stop", Containers.stop),
    ("POST", "/containers/([^/]+)/kill", Containers.kill),
    ("POST", "/containers/([^/]+)/exec", Containers.prepare),
    ("GET", "/containers/([^/]+)/json", Containers.inspect),
    ("DELETE", "/containers/([^/]+)", Containers.remove),
    ("POST", "/exec/([^/]+)/start", Containers.execute),
    ("GET", "/exec/([^/]+)/json", Containers.state),
)


class Handler(BaseHTTPRequestHandler):
    """HTTP round `Containers.answer`."""

    containers: Containers

    def reply(self) -> None:
        """Answer one request."""
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        status, answer = self.containers.answer(self.command, urlsplit(self.path).path, body)
        if status >= 500:
            say(f"{self.command} {self.path}: {answer}")
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = reply  # noqa: N815 - the names that http.server asks for

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing about requests."""


@contextlib.contextmanager
def docker(certs: Path) -> Iterator[str]:
    """The stand-in on a free port; gives what DOCKER_HOST has to be.

    One thread answers all requests: nodes end with the thread that started them.
    """
    containers = Containers(certs)
    handler = type("BoundHandler", (Handler,), {"containers": containers})
    server = HTTPServer((HOST, 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"tcp://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        containers.close()
