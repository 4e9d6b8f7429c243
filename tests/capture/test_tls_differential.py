"""Connections over TLS of OpenSSL's own programs, and what tshark reads with the same keys.

The programs do what Python's ssl does not: key updates, a second hello, early data, another
handshake in the middle, chosen suites of TLS 1.3.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from amqpcodec import capture
from amqpcodec.capture import KeyLog
from amqpcodec.capture._layers._sessions import Sessions
from amqpcodec.capture._layers._tls import Tls
from tests.capture.test_tls_unit import SUITES12
from tests.capture.test_tls_vectors import KEYS, OPENSSL_KEYS, RECORDING
from tests.capture.test_tls_vectors import OPENSSL as OPENSSL_RECORDING
from tests.support import recording as make
from tests.support.plain_talk import TALK
from tests.support.recording import packets
from tests.support.tls_talk import CLIENT, SERVER, Payloads, Talker, certificate, split_segments

pytest.importorskip("cryptography")

OPENSSL, TSHARK = shutil.which("openssl"), shutil.which("tshark")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="needs openssl")
SUITES13 = [
    f"TLS_{name}"
    for name in (
        *("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"),
        *("AES_128_CCM_SHA256", "AES_128_CCM_8_SHA256"),
    )
]


class Relay(threading.Thread):
    """Passes the bytes of a connection on, and keeps them in order."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = port
        self.payloads: Payloads = []
        self.start()

    def wait(self, since: int, client: int, server: int) -> None:
        """Until both sides have said so many pieces after the first ones, and then nothing."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            count = len(self.payloads)
            time.sleep(0.2)
            sides = [side for side, _ in self.payloads[since:]]
            enough = sides.count(CLIENT) >= client and sides.count(SERVER) >= server
            if enough and count == len(self.payloads):
                return
        raise TimeoutError(f"client and server have not said {client} and {server} pieces")

    def run(self) -> None:
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.target))
        back = threading.Thread(target=self.carry, args=(far, near, SERVER), daemon=True)
        back.start()
        self.carry(near, far, CLIENT)
        back.join(10)
        self.listener.close()

    def carry(self, source: socket.socket, target: socket.socket, side: int) -> None:
        try:
            while data := source.recv(1 << 16):
                self.payloads.append((side, data))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Openssl:
    """A server that turns lines round, or only listens, and clients that say lines to it."""

    def __init__(self, folder: Path, *options: str, turns: bool = True) -> None:
        self.keys = folder / "keys.log"
        self.turns = turns
        self.port = free_port()
        more = [*options, "-rev"] if turns else options
        self.server = subprocess.Popen(
            [str(OPENSSL), "s_server", *("-accept", str(self.port), "-cert", certificate(), *more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def say(self, lines: Sequence[str], *options: str) -> Payloads:
        """What both sides send where a client says these lines, each after the one before it came
        to the server: the program reads a command only where it stands alone."""
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.05)
        relay = Relay(self.port)
        client = subprocess.Popen(
            [
                *(str(OPENSSL), "s_client", "-connect", f"127.0.0.1:{relay.port}"),
                *("-keylogfile", str(self.keys), *options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert client.stdin is not None
        relay.wait(0, 2, 2)  # both hellos, and what follows each of them
        for line in lines:
            since = len(relay.payloads)
            client.stdin.write(line.encode() + b"\n")
            client.stdin.flush()
            relay.wait(since, 1, int(self.turns and line != "K"))
        client.stdin.write(b"Q\n")
        client.communicate(timeout=20)
        relay.join(10)
        return relay.payloads

    def close(self) -> None:
        self.server.kill()
        self.server.communicate()


def read(payloads: Payloads, keys: bytes) -> tuple[bytes, bytes]:
    """What both sides said inside of TLS."""
    reasons: list[str] = []
    tls = Tls(KeyLog(keys), Sessions(), reasons.append)
    plaintexts = [b"", b""]
    for side, data in payloads:
        for sender, item in tls.receive(side, data):
            assert isinstance(item, bytes), reasons
            plaintexts[sender] += item
    assert reasons == []
    return plaintexts[CLIENT], plaintexts[SERVER]


LINES = ["one to three", "K", "four to six", "K", "seven"]
ANSWERS = (b"one to three\nfour to six\nseven\n", b"eerht ot eno\nxis ot ruof\nneves\n")


def conversation(folder: Path, server: Sequence[str], client: Sequence[str], lines: list[str]):
    program = Openssl(folder, *server)
    try:
        payloads = program.say(lines, *client)
    finally:
        program.close()
    return payloads, program.keys.read_bytes()


@needs_openssl
@pytest.mark.parametrize("suite", SUITES13)
def test_key_updates_in_every_suite(tmp_path: Path, suite: str):
    chosen = ["-ciphersuites", suite, "-cipher", "DEFAULT:@SECLEVEL=0"]
    payloads, keys = conversation(tmp_path, chosen, chosen, LINES)
    assert read(payloads, keys) == ANSWERS


@needs_openssl
def test_a_second_hello(tmp_path: Path):
    groups = ["-groups", "X448"], ["-groups", "X25519:X448"]
    payloads, keys = conversation(tmp_path, *groups, LINES)
    hellos = [data for side, data in payloads if side == CLIENT and b"\x16\3" in data[:8]]
    assert len(hellos) >= 2
    assert read(payloads, keys) == ANSWERS


@needs_openssl
@pytest.mark.parametrize("etm", [[], ["-no_etm"]])
@pytest.mark.parametrize("cipher", ["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA256"])
def test_another_handshake_in_the_middle(tmp_path: Path, etm: list[str], cipher: str):
    """TLS 1.2 renegotiates: keys are those of the newer hellos, which are encrypted."""
    client = ["-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0", *etm]
    lines = ["one to three", "R", "four to six", "seven"]
    payloads, keys = conversation(tmp_path, ["-client_renegotiation"], client, lines)
    assert keys.count(b"CLIENT_RANDOM") == 2
    assert read(payloads, keys) == ANSWERS


@needs_openssl
@pytest.mark.parametrize("accepted", [True, False])
def test_early_data(tmp_path: Path, accepted: bool):
    early, session = tmp_path / "early", tmp_path / "session"
    early.write_bytes(b"early\n")
    options = "-early_data", "-no_anti_replay"
    program = Openssl(tmp_path, *options, turns=False)
    try:
        program.say(["first"], "-sess_out", str(session))
        if not accepted:
            program.close()  # another one does not know the session
            program = Openssl(tmp_path, *options, turns=False)
        payloads = program.say(["later"], "-sess_in", str(session), "-early_data", str(early))
    finally:
        program.close()
    keys = program.keys.read_bytes()
    assert b"CLIENT_EARLY_TRAFFIC_SECRET" in keys
    assert read(payloads, keys)[CLIENT] == (b"early\n" if accepted else b"") + b"later\n"


# ---- tshark ----


def tshark_frames(path: Path, keys: Path) -> int:
    """Frames of AMQP that tshark finds: it does not know the protocol header of 0-9-1."""
    process = subprocess.run(
        [
            *(str(TSHARK), "-r", str(path), "-o", f"tls.keylog_file:{keys}", "-Y", "amqp"),
            *("-d", "tcp.port==5671,tls", "-d", "tls.port==5671,amqp"),
            *("-T", "fields", "-e", "amqp.type"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(
        len(word.split(",")) for line in process.stdout.splitlines() for word in line.split()
    )


@pytest.mark.skipif(TSHARK is None, reason="needs tshark")
@pytest.mark.parametrize("ciphers", [None, *SUITES12])
def test_tshark_finds_as_many_frames(tmp_path: Path, ciphers: str | None):
    version = ssl.TLSVersion.TLSv1_3 if ciphers is None else ssl.TLSVersion.TLSv1_2
    talker = Talker(version, ciphers)
    path, keys = tmp_path / "x.pcap", tmp_path / "keys.log"
    path.write_bytes(make.pcap(packets(split_segments(talker.talk(TALK), (1400,)), port=5671)))
    keys.write_bytes(talker.keys)
    as_many(path, keys)


@pytest.mark.skipif(TSHARK is None, reason="needs tshark")
@pytest.mark.parametrize("recording", [(RECORDING, KEYS), (OPENSSL_RECORDING, OPENSSL_KEYS)])
def test_tshark_finds_as_many_frames_of_a_broker(recording: tuple[Path, Path]):
    as_many(*recording)


def as_many(path: Path, keys: Path) -> None:
    ours = capture.stats(path, keylog=keys)["frames"]
    assert tshark_frames(path, keys) == sum(ours.values()) - ours["protocol-header"] > 0
