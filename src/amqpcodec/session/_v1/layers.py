"""What comes before AMQP itself: protocol headers, TLS and SASL (Parts 2 §2.2 and 5)."""

from __future__ import annotations

from typing import Any

from ... import v1_0 as amqp
from ...negotiation import other_protocol
from ..errors import LocalProtocolError
from . import events
from .ending import end_without_close, fail_connection
from .objects import SessionEndpoint
from .sasl import DIGESTS, Exchange, Mechanism, SaslServer
from .scram import ScramError, ScramServer

__all__ = ["Layers"]

_NAMES = {amqp.PROTOCOL_HEADER: "amqp", amqp.SASL_HEADER: "sasl", amqp.TLS_HEADER: "tls"}
_HEADERS = {name: header for header, name in _NAMES.items()}


def _fits(frame: Any) -> bool:
    """Whether a frame of SASL has 512 bytes at most (§5.3.1)."""
    return len(amqp.encode(0, frame)) <= amqp.MIN_MAX_FRAME_SIZE


class Layers:
    """The handshake of one end, up to where AMQP's own frames begin: the endpoint's stages."""

    def __init__(
        self,
        connection: SessionEndpoint,
        sasl: tuple[Mechanism, ...] | SaslServer | None,
        tls: bool,
    ) -> None:
        self.connection = connection
        self.sasl = sasl
        self.tls = tls
        self.head = bytearray()
        self.exchange: Exchange | None = None
        self.mechanism: str | None = None
        self.username = ""
        self.pending = False  # server: AuthenticationRequested waits for its answer
        self.scram: ScramServer | None = None  # waits for the client's proof
        if connection.role == "client":
            self._check_sizes()
            self.expected = "tls" if tls else self._above_tls
            connection._queue_raw(_HEADERS[self.expected])

    def _check_sizes(self) -> None:
        """Refuse credentials that no frame of SASL holds."""
        for mechanism in self.sasl if isinstance(self.sasl, tuple) else ():
            init = amqp.SaslInit(
                amqp.Symbol(mechanism.name), mechanism.exchange().initial, self.connection.hostname
            )
            if not _fits(init):
                raise ValueError(f"the login by {mechanism.name} takes over 512 bytes")

    @property
    def _above_tls(self) -> str:
        return "amqp" if self.sasl is None else "sasl"

    # --- protocol headers -------------------------------------------------------------------------

    def take_header(self, data: memoryview) -> memoryview:
        """The first bytes of a stream; what is left of them after the header."""
        missing = 8 - len(self.head)
        self.head += data[:missing]
        magic = min(len(self.head), 4)
        if self.head[:magic] != b"AMQP"[:magic]:
            name = other_protocol(self.head)
            text = "what came is not AMQP" if name is None else f"what came is {name}, not AMQP"
            self._refuse(amqp.ConnectionError.FRAMING_ERROR, text)
        if len(self.head) == 8:
            header = bytes(self.head)
            self.head.clear()
            self._header(header, data[missing:])
            if self.connection._stage == "tls":
                return data[:0]
        return data[missing:]

    def header_frame(self, frame: Any) -> None:
        """A protocol header between frames: right only after SASL."""
        if self.connection._stage != "amqp-header" or frame != amqp.ProtocolHeader(0, 1, 0, 0):
            fail_connection(
                self.connection,
                amqp.AmqpError.ILLEGAL_STATE,
                "a protocol header is not permitted here",
            )
        if self.connection.role == "server":
            self.connection._queue_raw(amqp.PROTOCOL_HEADER)
        self._up()

    def _header(self, header: bytes, remainder: memoryview) -> None:
        layer = _NAMES.get(header)
        if self.connection.role == "client":
            if layer != self.expected:
                self._refuse(
                    amqp.AmqpError.NOT_IMPLEMENTED,
                    f"the server answers {self.expected} with {layer or header.hex(' ')}",
                )
        else:
            self._choose(header, layer)
        if layer == "tls":
            self.connection._stage = "tls"
            self.connection._emit(events.StartTls(bytes(remainder)))
        elif layer == "sasl":
            self.connection._stage = "sasl"
        else:
            self._up()

    def _choose(self, header: bytes, layer: str | None) -> None:
        """Server: take the layer that the client asks for, or name the one that it has to take."""
        sasl = self.sasl
        offers = {"tls": self.tls, "sasl": sasl is not None}
        offers["amqp"] = not (isinstance(sasl, SaslServer) and sasl.required)
        if layer is None or not offers[layer]:
            request = layer or header.hex(" ")
            self._refuse(amqp.AmqpError.NOT_IMPLEMENTED, f"the client asks for {request}")
        self.connection._queue_raw(header)
        if layer == "sasl":
            assert isinstance(sasl, SaslServer)
            names = [amqp.Symbol(name) for name in sasl.mechanisms]
            self.connection._queue(0, amqp.SaslMechanisms(names))

    def _refuse(self, condition: str, text: str) -> None:
        """There is no way to say why before AMQP's own frames: the transport is closed."""
        if self.connection.role == "server":
            self.connection._queue_raw(_HEADERS[self._above_tls])
        fail_connection(self.connection, condition, text, silent=True)

    def tls_established(self) -> None:
        """TLS is there: the next layer begins."""
        if self.connection._stage != "tls":
            raise LocalProtocolError("TLS was not agreed on")
        self.connection._stage = "header"
        self.tls = False
        if self.connection.role == "client":
            self.expected = self._above_tls
            self.connection._queue_raw(_HEADERS[self.expected])

    def _up(self) -> None:
        self.connection._stage = "amqp"
        if self.connection.role == "client":
            self.connection._queue_open()

    # --- SASL -------------------------------------------------------------------------------------

    def sasl_frame(self, frame: Any) -> None:
        """A frame of SASL."""
        if self.connection._stage != "sasl":
            self._wrong(frame)
        client = self.connection.role == "client"
        match frame:
            case amqp.SaslMechanisms() if client and self.exchange is None:
                self._offered(frame.sasl_server_mechanisms or ())
            case amqp.SaslChallenge() if client and self.exchange is not None:
                try:
                    answer = self.exchange.respond(frame.challenge or b"")
                except ScramError as error:
                    self._failed(None, str(error))
                else:
                    response = amqp.SaslResponse(answer)
                    if _fits(response):
                        self.connection._queue(0, response)
                    else:
                        self._failed(None, "the answer to the server's challenge is over 512 bytes")
            case amqp.SaslOutcome() if client and self.exchange is not None:
                self._outcome(frame)
            case amqp.SaslInit() if not client and self.mechanism is None:
                self._init(frame)
            case amqp.SaslResponse() if not client and self.scram is not None:
                self._scram_finish(self.scram, frame.response)
            case _:
                self._wrong(frame)

    def _wrong(self, frame: Any) -> None:
        fail_connection(
            self.connection,
            amqp.AmqpError.ILLEGAL_STATE,
            f"{frame.NAME} is not permitted here",
            method=frame.NAME,
        )

    def _failed(self, code: amqp.SaslCode | None, reason: str) -> None:
        """The connection ends here; neither side can say more than the outcome."""
        event = events.AuthenticationFailed(self.mechanism, code, reason)
        end_without_close(self.connection, event)

    def _offered(self, offered: tuple[str, ...]) -> None:
        assert isinstance(self.sasl, tuple)
        chosen = next((one for one in self.sasl if one.name in offered), None)
        if chosen is None:
            names = ", ".join(offered)[:200] or "none"
            self._failed(None, f"the server offers {names}")
            return
        self.mechanism = chosen.name
        self.username = getattr(chosen, "username", "")
        self.exchange = chosen.exchange()
        self.connection._queue(
            0,
            amqp.SaslInit(
                amqp.Symbol(chosen.name), self.exchange.initial, self.connection.hostname
            ),
        )

    def _outcome(self, frame: amqp.SaslOutcome) -> None:
        if frame.code != amqp.SaslCode.OK:
            code = amqp.SaslCode(frame.code) if frame.code is not None else None
            self._failed(code, f"the server refused the login: {code.name if code else 'no code'}")
            return
        assert self.exchange is not None
        try:
            self.exchange.finish(frame.additional_data)
        except ScramError as error:
            self._failed(None, str(error))
            return
        self._succeeded()

    def _succeeded(self) -> None:
        self.connection._stage = "amqp-header"
        self.connection._emit(events.Authenticated(self.mechanism or "", self.username))
        if self.connection.role == "client":
            self.connection._queue_raw(amqp.PROTOCOL_HEADER)
            self.connection._queue_open()

    # --- the server's side of SASL ----------------------------------------------------------------

    def _init(self, frame: amqp.SaslInit) -> None:
        assert isinstance(self.sasl, SaslServer)
        self.mechanism = str(frame.mechanism)
        first = frame.initial_response or b""
        if self.mechanism not in self.sasl.mechanisms:
            self._reject(f"the client wants {self.mechanism[:50]}, which was not offered")
        elif self.mechanism in DIGESTS:
            self._scram_begin(first)
        else:
            self._ask(first, frame.hostname)

    def _ask(self, first: bytes, hostname: str | None) -> None:
        parts = first.split(b"\0")
        if self.mechanism != "PLAIN":
            parts = [b"", first, b""] if self.mechanism == "ANONYMOUS" else [first, b"", b""]
        try:
            authorization_id, username, password = (part.decode() for part in parts)
        except ValueError:  # not three parts, or not UTF-8
            self._reject(f"the client's {self.mechanism} response cannot be read")
            return
        if self.mechanism == "PLAIN" and not (username and password):  # RFC 4616 §2
            self._reject("the client's PLAIN response has an empty name or password")
            return
        self.username = username
        self.pending = True
        self.connection._emit(
            events.AuthenticationRequested(
                self.mechanism or "",
                username,
                password if self.mechanism == "PLAIN" else None,
                authorization_id,
                hostname,
            )
        )

    def authenticate(self, accepted: bool, code: amqp.SaslCode | int) -> None:
        """The caller's decision."""
        if not self.pending:
            raise LocalProtocolError("no login waits to be decided")
        if not accepted and code == amqp.SaslCode.OK:
            raise ValueError("a login that is refused has a code other than OK")
        self.pending = False
        if accepted:
            self._accept(None)
        else:
            self.connection._queue(0, amqp.SaslOutcome(amqp.SaslCode(code)))
            end_without_close(self.connection, None)

    def _accept(self, data: bytes | None) -> None:
        self.connection._queue(0, amqp.SaslOutcome(amqp.SaslCode.OK, data))
        self._succeeded()

    def _reject(self, reason: str) -> None:
        self.connection._queue(0, amqp.SaslOutcome(amqp.SaslCode.AUTH))
        self._failed(amqp.SaslCode.AUTH, reason)

    def _scram_begin(self, first: bytes) -> None:
        assert isinstance(self.sasl, SaslServer)
        mechanism = self.mechanism or ""
        server = ScramServer(mechanism)
        try:
            self.username = server.username(first)
        except ScramError as error:
            self._reject(str(error))
            return
        record = self.sasl.scram_record(self.username, mechanism)
        challenge = amqp.SaslChallenge(server.challenge(record))
        if _fits(challenge):
            self.scram = server
            self.connection._queue(0, challenge)
        else:
            self._reject("the challenge to the client's long nonce is over 512 bytes")

    def _scram_finish(self, server: ScramServer, response: bytes | None) -> None:
        self.scram = None
        try:
            proof = server.finish(response or b"")
        except ScramError as error:
            self._reject(str(error))
        else:
            self._accept(proof)
