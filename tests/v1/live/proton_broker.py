"""A broker of python-qpid-proton's, in a thread of this process."""

from __future__ import annotations

import socket
import threading
from collections import defaultdict, deque
from typing import Any

from proton import Delivery, Described, Disposition, Terminus, ulong
from proton.handlers import MessagingHandler
from proton.reactor import ApplicationEvent, Container, EventInjector

DECLARED, TRANSACTIONAL = 0x33, 0x34
DECLARE = (0x31, "amqp:declare:list")


class Broker(MessagingHandler):  # type: ignore[misc]
    """Queues by address. What is done with a message that comes says its subject: reject, release,
    modify; all others are accepted. `outcomes`: what receivers said of what was sent to them."""

    def __init__(self, port: int) -> None:
        super().__init__(prefetch=100, auto_accept=False, auto_settle=False)
        self.port = port
        self.queues: dict[str, deque[Any]] = defaultdict(deque)
        self.consumers: dict[str, list[Any]] = defaultdict(list)
        self.outcomes: list[tuple[int, Any]] = []
        self.open: dict[bytes, list[tuple[str, Any]]] = {}
        self.count = 0
        self.ready = threading.Event()

    def on_start(self, event: Any) -> None:
        self.container = event.container
        self.container.listen(f"127.0.0.1:{self.port}")
        self.ready.set()

    def on_stop(self, event: Any) -> None:
        self.container.stop()

    def on_link_opening(self, event: Any) -> None:
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        if link.is_sender:
            self.consumers[link.remote_source.address].append(link)

    def on_sendable(self, event: Any) -> None:
        self.dispatch(event.link.source.address)

    def dispatch(self, address: str) -> None:
        """Send what is there to whoever has credit."""
        for link in self.consumers[address]:
            while link.credit and self.queues[address]:
                link.send(self.queues[address].popleft())

    def on_message(self, event: Any) -> None:
        delivery, link, message = event.delivery, event.link, event.message
        if link.remote_target.type == Terminus.COORDINATOR:
            self.coordinate(delivery, message.body)
            return
        address = link.target.address
        transaction = None
        if delivery.remote_state == TRANSACTIONAL:
            transaction = bytes(delivery.remote.data[0])
            self.open[transaction].append((address, message))
            delivery.local.data = [transaction, Described(ulong(0x24), [])]
            delivery.update(TRANSACTIONAL)
        elif message.subject == "reject":
            delivery.local.condition = None
            delivery.update(Delivery.REJECTED)
        elif message.subject == "release":
            delivery.update(Delivery.RELEASED)
        elif message.subject == "modify":
            delivery.local.failed = True
            delivery.local.undeliverable = True
            delivery.local.annotations = {"x-opt-why": "asked"}
            delivery.update(Delivery.MODIFIED)
        else:
            delivery.update(Delivery.ACCEPTED)
            self.queues[address].append(message)
        delivery.settle()
        self.dispatch(address)

    def coordinate(self, delivery: Any, body: Any) -> None:
        """declare and discharge."""
        if body.descriptor in DECLARE:
            self.count += 1
            identity = b"txn-%d" % self.count
            self.open[identity] = []
            delivery.local.data = [identity]
            delivery.update(DECLARED)
        else:
            identity, fail = bytes(body.value[0]), len(body.value) > 1 and body.value[1]
            messages = self.open.pop(identity)
            for address, message in () if fail else messages:
                self.queues[address].append(message)
                self.dispatch(address)
            delivery.update(Delivery.ACCEPTED)
        delivery.settle()

    def on_delivery(self, event: Any) -> None:
        """What a receiver said of a delivery."""
        delivery = event.delivery
        if delivery.link.is_sender and delivery.updated:
            state: Disposition = delivery.remote
            self.outcomes.append((int(delivery.remote_state), (state.failed, state.undeliverable)))
            delivery.settle()


class Running:
    """A broker and its thread."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.address: tuple[str, int] = server.getsockname()
        self.broker = Broker(self.address[1])
        self.container = Container(self.broker)
        self.injector = EventInjector()
        self.container.selectable(self.injector)
        self.thread = threading.Thread(target=self.container.run, daemon=True)
        self.thread.start()
        assert self.broker.ready.wait(10)

    def stop(self) -> None:
        """End it."""
        self.injector.trigger(ApplicationEvent("stop"))
        self.thread.join(10)
