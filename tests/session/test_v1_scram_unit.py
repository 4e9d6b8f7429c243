"""SCRAM at both ends: each order of messages, malformed ones, and what a server reveals."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import RemoteProtocolError, v1
from amqpcodec.session._v1 import scram
from amqpcodec.session._v1.scram import ScramClient, ScramError, ScramServer, prepare
from tests.support.session_v1_pair import Pair, Peer, kinds

NAMES = ("SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512")
SHA256 = "SCRAM-SHA-256"
RECORD = v1.ScramRecord.of("pencil")
OK, AUTH = amqp.SaslCode.OK, amqp.SaslCode.AUTH


def digest_of(name: str) -> str:
    return {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[name]


# --- against what RFCs print ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "salt", "nonces", "proof", "signature"),
    [
        (  # RFC 5802 §5
            "SCRAM-SHA-1",
            "QSXCR+Q6sek8bf92",
            ("fyko+d2lbbFgONRv9qkxdawL", "3rfcNHYJY1ZVvWVs7j"),
            "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
            "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
        ),
        (  # RFC 7677 §3
            "SCRAM-SHA-256",
            "W22ZaJ0SNY7soEsUEjb6gQ==",
            ("rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"),
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ),
    ],
)
def test_the_examples_of_the_rfcs(
    name: str, salt: str, nonces: tuple[str, str], proof: str, signature: str
) -> None:
    ours, theirs = nonces
    client = ScramClient(name, "user", "pencil", nonce=ours)
    assert client.first() == f"n,,n=user,r={ours}".encode()
    record = v1.ScramRecord.of("pencil", mechanism=name, salt=base64.b64decode(salt))
    server = ScramServer(name, nonce=theirs)
    assert server.username(client.first()) == "user"
    challenge = server.challenge(record)
    assert challenge == f"r={ours}{theirs},s={salt},i=4096".encode()
    final = client.receive(challenge)
    assert final == f"c=biws,r={ours}{theirs},p={proof}".encode()
    assert server.finish(final) == f"v={signature}".encode()
    assert client.receive(f"v={signature}".encode()) == b""
    client.finish(None)


# --- every order of a server's messages -----------------------------------------------------------


class Rogue:
    """A server that sends what it likes to a client. knows: the password."""

    def __init__(self) -> None:
        self.peer = Peer("client", sasl=v1.Scram("user", "pencil"))
        self.frames: list[Any] = []
        self.events: list[Any] = []
        self.error: RemoteProtocolError | None = None
        self.server = ScramServer(SHA256, nonce="server")
        self.first = self.signature = b""

    def give(self, *frames: Any) -> None:
        try:
            self.events += self.peer.give(*frames)
        except RemoteProtocolError as error:
            self.error = error
            self.events += error.events
        self.frames += self.peer.take()

    def sent(self, kind: type) -> list[Any]:
        return [frame for frame in self.frames if type(frame) is kind]

    def challenge(self) -> bytes:
        """The right challenge, once there is something to challenge; the same one again later."""
        if not self.first:
            inits = self.sent(amqp.SaslInit)
            if not inits:
                return b"r=x,s=QUJD,i=4096"
            self.server.username(inits[0].initial_response)
            self.first = self.server.challenge(RECORD)
        return self.first

    def verifier(self) -> bytes:
        """The right signature, once the proof came; the same one again later."""
        if not self.signature:
            responses = self.sent(amqp.SaslResponse)
            if not responses:
                return b"v=" + base64.b64encode(bytes(32))
            self.signature = self.server.finish(responses[0].response)
        return self.signature


def mechanisms(rogue: Rogue) -> Any:
    return amqp.SaslMechanisms([amqp.Symbol(SHA256)])


def without_proof(rogue: Rogue) -> bytes:
    """A signature that is right for a client without a secret: of nothing."""
    return b"v=" + base64.b64encode(hmac.digest(b"", b"", "sha256"))


#: What a server may send: name -> the frame.
SERVER: dict[str, Callable[[Rogue], Any]] = {
    "mechanisms": mechanisms,
    "challenge": lambda rogue: amqp.SaslChallenge(rogue.challenge()),
    "foreign challenge": lambda rogue: amqp.SaslChallenge(b"r=other,s=QUJD,i=4096"),
    "verifier": lambda rogue: amqp.SaslChallenge(rogue.verifier()),
    "empty verifier": lambda rogue: amqp.SaslChallenge(b"v="),
    "wrong verifier": lambda rogue: amqp.SaslChallenge(without_proof(rogue)),
    "error": lambda rogue: amqp.SaslChallenge(b"e=invalid-proof"),
    "empty": lambda rogue: amqp.SaslChallenge(b""),
    "ok": lambda rogue: amqp.SaslOutcome(OK),
    "ok, empty": lambda rogue: amqp.SaslOutcome(OK, b""),
    "ok, verifier": lambda rogue: amqp.SaslOutcome(OK, rogue.verifier()),
    "ok, empty verifier": lambda rogue: amqp.SaslOutcome(OK, b"v="),
    "ok, wrong verifier": lambda rogue: amqp.SaslOutcome(OK, without_proof(rogue)),
    "ok, challenge": lambda rogue: amqp.SaslOutcome(OK, rogue.challenge()),
    "refused": lambda rogue: amqp.SaslOutcome(AUTH),
    "refused, verifier": lambda rogue: amqp.SaslOutcome(AUTH, rogue.verifier()),
    "header": lambda rogue: amqp.ProtocolHeader(0, 1, 0, 0),
}

#: The only orders after which a client may go on.
RIGHT = {
    ("mechanisms", "challenge", "verifier", "ok"),
    ("mechanisms", "challenge", "verifier", "ok, empty"),
    ("mechanisms", "challenge", "ok, verifier"),
}


def orders(alphabet: Any, ends: Callable[[tuple[str, ...]], bool]) -> Iterator[tuple[str, ...]]:
    """Every sequence of up to 5 messages; those after which the login is over are not extended."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        order = pending.pop()
        yield order
        if len(order) < 5 and not ends(order):
            pending += [(*order, name) for name in alphabet]


def test_every_order_of_a_servers_messages() -> None:
    """A client goes on only where the server proved itself, once, after the client's proof."""
    over: set[tuple[str, ...]] = set()
    authenticated = set()
    for order in orders(SERVER, over.__contains__):
        rogue = Rogue()
        rogue.give(amqp.ProtocolHeader(3, 1, 0, 0))
        for name in order:
            rogue.give(SERVER[name](rogue))
        succeeded = [event for event in rogue.events if type(event) is v1.Authenticated]
        if succeeded:
            assert len(succeeded) == 1
            authenticated.add(order)
            over.add(order)
            assert rogue.sent(amqp.Open)
        else:
            assert not rogue.sent(amqp.Open), order
            if rogue.peer.engine.closed:
                over.add(order)
                assert type(rogue.events[-1]) is v1.ConnectionClosed
                check_that_nothing_follows(rogue, order)
        responses = rogue.sent(amqp.SaslResponse)
        proofs = [frame for frame in responses if b"p=" in frame.response]
        assert len(proofs) == (order[:2] == ("mechanisms", "challenge"))
    assert authenticated == RIGHT


def check_that_nothing_follows(rogue: Rogue, order: tuple[str, ...]) -> None:
    before = len(rogue.frames)
    events, rogue.events = rogue.events, []
    for make in SERVER.values():
        rogue.give(make(rogue))
    assert rogue.events == [], order
    assert len(rogue.frames) == before, order
    rogue.events = events


# --- every order of a client's messages -----------------------------------------------------------


class Guest:
    """A client that sends what it likes to a server."""

    def __init__(self) -> None:
        users = {"user": RECORD, "old": v1.ScramRecord.of("pencil", mechanism="SCRAM-SHA-1")}
        sasl = v1.SaslServer((SHA256, "ANONYMOUS"), users.get)
        self.peer = Peer("server", sasl=sasl)
        self.events: list[Any] = []
        self.frames: list[Any] = []
        self.name = ""
        self.client: ScramClient | None = None
        self.response = b""

    def give(self, *frames: Any) -> None:
        try:
            self.events += self.peer.give(*frames)
        except RemoteProtocolError as error:
            self.events += error.events
        self.frames += self.peer.take()

    def init(self, name: str) -> Any:
        self.client = ScramClient(SHA256, name, "pencil")
        return amqp.SaslInit(amqp.Symbol(SHA256), self.client.first())

    def final(self) -> Any:
        """The right answer to the challenge; the same one again later."""
        challenges = [frame for frame in self.frames if type(frame) is amqp.SaslChallenge]
        if not self.response and self.client is not None and challenges:
            self.response = self.client.receive(challenges[-1].challenge)
        return amqp.SaslResponse(self.response or b"c=biws,r=x,p=QUJD")


CLIENT: dict[str, Callable[[Guest], Any]] = {
    "init": lambda guest: guest.init("user"),
    "init of nobody": lambda guest: guest.init("nobody"),
    "init of another mechanism": lambda guest: guest.init("old"),
    "init without response": lambda guest: amqp.SaslInit(amqp.Symbol(SHA256)),
    "init, not offered": lambda guest: amqp.SaslInit(amqp.Symbol("PLAIN"), b"\0user\0pencil"),
    "proof": lambda guest: guest.final(),
    "wrong proof": lambda guest: amqp.SaslResponse(
        guest.final().response.partition(b",p=")[0] + b",p=" + base64.b64encode(bytes(32))
    ),
    "no proof": lambda guest: amqp.SaslResponse(guest.final().response.partition(b",p=")[0]),
    "empty": lambda guest: amqp.SaslResponse(b""),
    "header": lambda guest: amqp.ProtocolHeader(0, 1, 0, 0),
    "server's outcome": lambda guest: amqp.SaslOutcome(OK),
}


def test_every_order_of_a_clients_messages() -> None:
    over: set[tuple[str, ...]] = set()
    authenticated = set()
    for order in orders(CLIENT, over.__contains__):
        guest = Guest()
        guest.give(amqp.ProtocolHeader(3, 1, 0, 0))
        for name in order:
            guest.give(CLIENT[name](guest))
        if v1.Authenticated in kinds(guest.events):
            authenticated.add(order)
            over.add(order)
        elif guest.peer.engine.closed:
            over.add(order)
    assert authenticated == {("init", "proof")}


# --- what a server tells of its users -------------------------------------------------------------


def exchange(sasl: Any, name: str, password: str = "wrong") -> tuple[Any, Any, list[Any]]:
    """(the challenge, the outcome, the server's events) of a login."""
    peer = Peer("server", sasl=sasl)
    peer.give(amqp.ProtocolHeader(3, 1, 0, 0))
    peer.take()
    client = ScramClient(sasl.mechanisms[0], name, password)
    events = peer.give(amqp.SaslInit(amqp.Symbol(sasl.mechanisms[0]), client.first()))
    (challenge,) = peer.take()
    events += peer.give(amqp.SaslResponse(client.receive(challenge.challenge)))
    (outcome,) = peer.take()
    return challenge.challenge, outcome, events


def salt_of(challenge: bytes) -> bytes:
    return base64.b64decode(challenge.split(b",")[1][2:])


@pytest.mark.parametrize("name", NAMES)
def test_a_user_that_does_not_exist_is_challenged_like_others(name: str) -> None:
    users = {
        "user": v1.ScramRecord.of("pencil", mechanism=name, iterations=5000),
        "old": v1.ScramRecord.of("pencil", mechanism=NAMES[NAMES.index(name) - 1]),
    }
    sasl = v1.SaslServer((name,), users.get, scram_iterations=5000)
    existing, nobody, old = (exchange(sasl, user) for user in ("user", "nobody", "old"))
    assert existing[1] == nobody[1] == old[1] == amqp.SaslOutcome(AUTH)
    assert existing[2] == nobody[2] == old[2]
    for challenge, _, _ in (existing, nobody, old):
        assert challenge.endswith(b",i=5000")
        assert len(challenge) == len(existing[0])
        assert len(salt_of(challenge)) == 16
    assert salt_of(existing[0]) == salt_of(exchange(sasl, "user")[0])
    assert salt_of(nobody[0]) == salt_of(exchange(sasl, "nobody")[0])
    assert salt_of(nobody[0]) == salt_of(exchange(sasl, "no\u00adbody")[0])  # SASLprep drops it
    assert salt_of(nobody[0]) != salt_of(old[0]) != salt_of(exchange(sasl, "third")[0])


def test_the_salt_of_a_user_that_does_not_exist_comes_from_the_servers_secret() -> None:
    servers = [
        v1.SaslServer((SHA256,), {}.get, scram_secret=secret)
        for secret in (b"a" * 16, b"a" * 16, b"b" * 16)
    ]
    once, again, other = (salt_of(exchange(sasl, "nobody")[0]) for sasl in servers)
    assert once == again != other
    fresh = (v1.SaslServer((SHA256,), {}.get) for _ in range(2))
    one, two = (salt_of(exchange(sasl, "nobody")[0]) for sasl in fresh)
    assert one != two
    assert b"aaaa" not in repr(servers[0]).encode()


def test_a_user_that_does_not_exist_costs_what_others_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same calls of hash functions with inputs of the same size, so the same time."""
    sasl = v1.SaslServer((SHA256,), {"userX": RECORD}.get)
    calls: list[tuple[str, int]] = []
    real = {"digest": hmac.digest, "new": hashlib.new, "pbkdf2": hashlib.pbkdf2_hmac}

    def digest(key: bytes, data: bytes, name: str) -> bytes:
        calls.append(("hmac", len(data)))
        return real["digest"](key, data, name)

    def new(name: str, data: bytes = b"") -> Any:
        calls.append(("hash", len(data)))
        return real["new"](name, data)

    def pbkdf2(*arguments: Any) -> bytes:
        calls.append(("pbkdf2", arguments[-1]))
        return real["pbkdf2"](*arguments)

    def cost(name: str) -> list[tuple[str, int]]:
        peer = Peer("server", sasl=sasl)
        peer.give(amqp.ProtocolHeader(3, 1, 0, 0))
        peer.take()
        client = ScramClient(SHA256, name, "wrong")
        init = amqp.SaslInit(amqp.Symbol(SHA256), client.first())
        with monkeypatch.context() as patch:
            patch.setattr(scram.hmac, "digest", digest)
            patch.setattr(scram.hashlib, "new", new)
            patch.setattr(scram.hashlib, "pbkdf2_hmac", pbkdf2)
            calls.clear()
            peer.give(init)
            first = list(calls)
        (challenge,) = peer.take()
        response = amqp.SaslResponse(client.receive(challenge.challenge))
        with monkeypatch.context() as patch:
            patch.setattr(scram.hmac, "digest", digest)
            patch.setattr(scram.hashlib, "new", new)
            calls.clear()
            peer.give(response)
            return first + list(calls)

    existing, unknown = cost("userX"), cost("nouser"[:5])
    assert existing == unknown
    assert {kind for kind, _ in existing} == {"hmac", "hash"}  # no hashing in rounds at the server


def test_proofs_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(scram.hmac, "compare_digest", compare)
    server = {"sasl": v1.SaslServer((SHA256,), {"user": RECORD}.get)}
    pair = Pair({"sasl": v1.Scram("user", "pencil")}, server)
    pair.pump()
    assert pair.one(v1.Authenticated)
    assert len(compared) == 2  # the client's proof, the server's signature
    assert all(one == other for one, other in compared)


# --- single messages ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "challenge",
    [
        b"r=NONCE,s=QUJD,i=4096",  # the server adds nothing
        b"r=NONC,s=QUJD,i=4096",
        b"r=NONCE\x7f,s=QUJD,i=4096",
        b"r=NONCE\xc3\xa4,s=QUJD,i=4096",
        b"r=NONCEx,s=QUJD,i=04096",
        b"r=NONCEx,s=QUJD,i=+4096",
        b"r=NONCEx,s=QUJD,i=4096 ",
        b"r=NONCEx,s=QUJD,i=4_096",
        b"r=NONCEx,s=QUJD,i=\xd9\xa4096",
        b"r=NONCEx,s=QUJD,i=4095",
        b"r=NONCEx,s=QUJD,i=0",
        b"r=NONCEx,s=QUJD,i=" + b"9" * 400,
        b"r=NONCEx,s=QUJD,i=",
        b"r=NONCEx,s=,i=4096",
        b"r=NONCEx,s=QUJ,i=4096",
        b"r=NONCEx,s=QUJ=,i=4096",  # bits of the last character that mean nothing
        b"r=NONCEx,s=QUJD\n,i=4096",
        b"r=NONCEx,s=QUJD",
        b"r=NONCEx,i=4096,s=QUJD",
        b"s=QUJD,r=NONCEx,i=4096",
        b"m=x,r=NONCEx,s=QUJD,i=4096",
        b"r=NONCEx,s=QUJD,i=4096,m=x",
        b"r=NONCEx,s=QUJD,i=4096,i=1000000",
        b"r=NONCEx,r=NONCEy,s=QUJD,i=4096",
        b"r=NONCEx,s=QUJD,i=4096,x=1,x=2",
        b"r=NONCEx,s=QUJD,i=4096,",
        b"r=NONCEx,s=QUJD,i=4096,x",
        b"r=NONCEx,s=QUJD,i=4096,x=",
        b"r=NONCEx,s=QUJD,i=4096,1=x",
        b"r=NONCEx,s=QUJD,i=4096,x=\0",
        b"r=NONCEx,s=QUJD,i=4096,x=\xff",
    ],
)
def test_a_challenge_that_a_client_refuses(challenge: bytes) -> None:
    client = ScramClient(SHA256, "user", "pencil", nonce="NONCE")
    with pytest.raises(ScramError):
        client.receive(challenge)
    with pytest.raises(ScramError, match="failed"):
        client.receive(b"r=NONCEx,s=QUJD,i=4096")
    with pytest.raises(ScramError):
        client.finish(b"v=" + base64.b64encode(bytes(32)))


def test_extensions_that_may_be_ignored() -> None:
    client = ScramClient(SHA256, "user", "pencil", nonce="NONCE")
    server = ScramServer(SHA256)
    server.username(client.first() + b",x=1,Y=a=b")
    final = client.receive(b"r=NONCEx,s=QUJD,i=4096,x=y=z")
    assert final.startswith(b"c=biws,r=NONCEx,p=")


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"n,,",
        b"n,,n=user",
        b"n,,n=user,r=",
        b"n,,n=,r=x",
        b"n,,r=x,n=user",
        b"n,,n=us=er,r=x",
        b"n,,n=us=2der,r=x",
        b"n,,n=user,r=a\x7f",
        b"n,,n=user,r=\xc3\xa4",
        b"n,,n=user\xff,r=x",
        b"n,,n=us\0er,r=x",
        b"n,,n=us\x07er,r=x",  # SASLprep prohibits it
        b"n,,n=\xc2\xad,r=x",  # SASLprep leaves nothing of it
        b"n,,m=ext,n=user,r=x",
        b"n,,n=user,r=x,m=ext",
        b"n,,n=user,n=other,r=x",
        b"n,,n=user,r=x,r=y",
        b"p=tls-unique,,n=user,r=x",
        b"n,a=admin,n=user,r=x",
        b"N,,n=user,r=x",
        b"x,,n=user,r=x",
    ],
)
def test_a_first_message_that_a_server_refuses(first: bytes) -> None:
    with pytest.raises(ScramError):
        ScramServer(SHA256).username(first)
    peer = Peer("server", sasl=v1.SaslServer((SHA256,), {"user": RECORD}.get))
    events = peer.give(amqp.ProtocolHeader(3, 1, 0, 0), amqp.SaslInit(amqp.Symbol(SHA256), first))
    assert kinds(events) == [v1.AuthenticationFailed, v1.ConnectionClosed]
    assert peer.take()[-1] == amqp.SaslOutcome(AUTH)


def test_a_last_message_that_a_server_refuses() -> None:
    def finals() -> Iterator[tuple[str, Callable[[str, str, str], str]]]:
        yield "the binding of another first message", lambda c, r, p: f"c=eSws,r={r},p={p}"
        yield "no binding", lambda c, r, p: f"r={r},p={p}"
        yield "a nonce that is cut", lambda c, r, p: f"c={c},r={r[:-1]},p={p}"
        yield "the client's nonce alone", lambda c, r, p: f"c={c},r=NONCE,p={p}"
        yield "no proof", lambda c, r, p: f"c={c},r={r}"
        yield "an empty proof", lambda c, r, p: f"c={c},r={r},p="
        yield "half a proof", lambda c, r, p: f"c={c},r={r},p={p[:24]}"
        yield "a proof that is not base64", lambda c, r, p: f"c={c},r={r},p=?{p[1:]}"
        yield "two proofs", lambda c, r, p: f"c={c},r={r},p={p},p={p}"
        yield "something after the proof", lambda c, r, p: f"c={c},r={r},p={p},x=1"
        yield "an extension that the proof does not cover", lambda c, r, p: f"c={c},r={r},x=1,p={p}"
        yield "an extension that must be understood", lambda c, r, p: f"c={c},r={r},m=1,p={p}"
        yield "another proof", lambda c, r, p: f"c={c},r={r},p={p[1:-1]}{p[0]}="
        yield "nothing", lambda c, r, p: ""

    for what, change in finals():
        client = ScramClient(SHA256, "user", "pencil", nonce="NONCE")
        server = ScramServer(SHA256)
        server.username(client.first())
        right = client.receive(server.challenge(RECORD)).decode()
        binding, nonce, proof = (part[2:] for part in right.split(",", 2))
        message = change(binding, nonce, proof).encode()
        try:
            server.finish(message)
        except ScramError:
            pass
        else:
            pytest.fail(f"{what}: taken")
        with pytest.raises(ScramError, match="finished"):
            server.finish(right.encode())


def test_calls_out_of_order() -> None:
    server = ScramServer(SHA256)
    with pytest.raises(ScramError):
        server.challenge(RECORD)
    with pytest.raises(ScramError):
        server.username(b"n,,n=user,r=x")
    server = ScramServer(SHA256)
    server.username(b"n,,n=user,r=x")
    with pytest.raises(ScramError):
        server.finish(b"c=biws,r=x,p=QUJD")


def test_frames_of_sasl_stay_below_512_bytes() -> None:
    """An answer that would not is refused, and nothing but events leaves receive_data."""
    rogue = Rogue()
    rogue.give(amqp.ProtocolHeader(3, 1, 0, 0), mechanisms(rogue))
    nonce = rogue.sent(amqp.SaslInit)[0].initial_response.partition(b"r=")[2]
    long = b"r=" + nonce.ljust(440, b"x") + b",s=QUJD,i=4096"
    rogue.give(amqp.SaslChallenge(long))
    assert kinds(rogue.events) == [v1.AuthenticationFailed, v1.ConnectionClosed]
    peer = Peer("server", sasl=v1.SaslServer((SHA256,), {"user": RECORD}.get))
    init = amqp.SaslInit(amqp.Symbol(SHA256), b"n,,n=user,r=" + b"x" * 440)
    events = peer.give(amqp.ProtocolHeader(3, 1, 0, 0), init)
    assert kinds(events) == [v1.AuthenticationFailed, v1.ConnectionClosed]
    assert peer.take()[-1] == amqp.SaslOutcome(AUTH)


# --- names, passwords, bounds ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "result"),
    [  # RFC 4013 §3
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b", "a b"),
        ("\u0627\u0644", "\u0627\u0644"),
        ("", ""),
    ],
)
def test_saslprep(text: str, result: str) -> None:
    assert prepare(text) == result


@pytest.mark.parametrize("text", ["\u0007", "a\u0000b", "\u06271", "a\u0627", "\u0627a\u0627"])
def test_saslprep_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="RFC"):
        prepare(text)
    with pytest.raises(ValueError, match="RFC"):
        v1.ScramRecord.of(text)


def test_bounds() -> None:
    record = v1.ScramRecord.of("p")
    for wrong in (
        lambda: v1.ScramRecord.of("p", iterations=4095),
        lambda: v1.ScramRecord.of("p", iterations=1_000_001),
        lambda: v1.ScramRecord.of("p", mechanism="SCRAM-MD5"),
        lambda: v1.ScramRecord.of("p", salt=b""),
        lambda: v1.ScramRecord.of("p", salt=b"x" * 65),
        lambda: v1.ScramRecord(SHA256, b"salt", 4096, b"", record.server_key),
        lambda: v1.ScramRecord(SHA256, b"salt", 1, record.stored_key, record.server_key),
        lambda: v1.Scram("u", "p", min_iterations=4095),
        lambda: v1.Scram("u", "p", max_iterations=1_000_001),
        lambda: v1.Scram("", "p").exchange(),
        lambda: v1.SaslServer((SHA256,), {}.get, scram_iterations=1),
        lambda: v1.SaslServer((SHA256,), {}.get, scram_secret=b"short"),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize(("iterations", "accepted"), [(5000, True), (4999, False), (8001, False)])
def test_a_client_with_bounds_of_its_own(iterations: int, accepted: bool) -> None:
    client = v1.Scram("user", "pencil", min_iterations=5000, max_iterations=8000)
    record = v1.ScramRecord.of("pencil", iterations=iterations)
    pair = Pair({"sasl": client}, {"sasl": v1.SaslServer((SHA256,), {"user": record}.get)})
    assert (v1.Authenticated in kinds(pair.pump())) is accepted


# --- PLAIN, ANONYMOUS, EXTERNAL -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "response", "expected"),
    [
        ("PLAIN", b"\0u\0p", ("u", "p", "")),
        ("PLAIN", b"z\0u\0p", ("u", "p", "z")),
        ("PLAIN", b"\0u\0", None),
        ("PLAIN", b"\0\0p", None),
        ("PLAIN", b"u\0p", None),
        ("PLAIN", b"\0u\0p\0", None),
        ("PLAIN", b"\0u\0\xff", None),
        ("PLAIN", None, None),
        ("ANONYMOUS", None, ("", None, "")),
        ("ANONYMOUS", b"me", ("me", None, "")),
        ("ANONYMOUS", b"\xff", None),
        ("EXTERNAL", None, ("", None, "")),
        ("EXTERNAL", b"me", ("", None, "me")),
        ("EXTERNAL", b"\xff", None),
        ("plain", b"\0u\0p", None),
        (SHA256, b"n,,n=u,r=x", None),
    ],
)
def test_what_a_server_asks_its_caller(
    mechanism: str, response: bytes | None, expected: tuple[str, str | None, str] | None
) -> None:
    peer = Peer("server", sasl=v1.SaslServer(("PLAIN", "ANONYMOUS", "EXTERNAL")))
    events = peer.give(
        amqp.ProtocolHeader(3, 1, 0, 0), amqp.SaslInit(amqp.Symbol(mechanism), response)
    )
    if expected is None:
        assert kinds(events) == [v1.AuthenticationFailed, v1.ConnectionClosed]
        assert peer.take()[-1] == amqp.SaslOutcome(AUTH)
        return
    assert events == [
        v1.AuthenticationRequested(mechanism, expected[0], expected[1], expected[2], None)
    ]
    with pytest.raises(ValueError, match="other than OK"):
        peer.engine.authenticate(False, amqp.SaslCode.OK)
    peer.engine.authenticate()
    assert peer.take()[-1] == amqp.SaslOutcome(OK)


@pytest.mark.parametrize("mechanism", [v1.Plain("u", "p"), v1.Anonymous(), v1.External()])
def test_a_client_without_anything_to_answer_refuses_a_challenge(mechanism: Any) -> None:
    peer = Peer("client", sasl=mechanism)
    offered = amqp.SaslMechanisms([amqp.Symbol(mechanism.name)])
    for challenge in (b"", b"v=", b"r=x,s=QUJD,i=4096"):
        peer = Peer("client", sasl=mechanism)
        events = peer.give(amqp.ProtocolHeader(3, 1, 0, 0), offered, amqp.SaslChallenge(challenge))
        assert kinds(events) == [v1.AuthenticationFailed, v1.ConnectionClosed]
        assert not [frame for frame in peer.take() if type(frame) is amqp.SaslResponse]
