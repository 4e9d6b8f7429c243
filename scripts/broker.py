#!/usr/bin/env python3
"""A private RabbitMQ for the live tests: one throw-away node, on loopback only.

    broker.py run -- CMD...   start a node, run CMD with AMQPCODEC_BROKER=127.0.0.1:PORT, stop it;
                              AMQPCODEC_BROKER_STREAM is the address of its stream protocol
    broker.py start           start a node that stays until `stop` (prints the variables to set)
    broker.py status          say whether that node runs (exit status 3: it does not)
    broker.py ctl -- ARGS...  rabbitmqctl against the node of `start`, or of the `run` around it
    broker.py stop            stop it and remove its files
    broker.py install         only make sure that RabbitMQ is there (Debian's package; needs root)
                              and, if that can be, Perl's Net::AMQP, which tests compare with, and
                              python-qpid-proton in this Python, a peer of AMQP 1.0

Nothing of the machine is shared: own ports (broker, distribution, epmd; all on 127.0.0.1), own node
name, database, logs, configuration, cookie and HOME. No systemd. Every wait has an end.
`run` takes a fresh directory each time, so several may go on at once.

Exit status: that of CMD (run, ctl); 0; 2 usage; 3 not running; 4 cannot install or start.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import glob
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

REPO = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
ENV_ADDRESS = "AMQPCODEC_BROKER"
ENV_STREAM = "AMQPCODEC_BROKER_STREAM"
ENV_DIR = "AMQPCODEC_BROKER_DIR"  # lets a test find the node it talks to, for `ctl`
APT_SECONDS = 420
PROTON = "python-qpid-proton==0.40.0"
BOOT_SECONDS = 90
STOP_SECONDS = 20
CTL_SECONDS = 180
POLICY = Path("/usr/sbin/policy-rc.d")
PR_SET_PDEATHSIG = 1

CONFIG = """\
listeners.tcp.1 = {host}:{port}
loopback_users.guest = true
stream.listeners.tcp.1 = {host}:{stream_port}
stream.advertised_host = {host}
stream.advertised_port = {stream_port}
# A small disk or a small container must not block publishers.
disk_free_limit.absolute = 1MB
log.file = broker.log
log.file.level = info
# EXTERNAL is offered where a client showed a certificate: to those of a listener for TLS alone.
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
auth_mechanisms.3 = EXTERNAL
ssl_cert_login_from = common_name
"""
PLUGINS = "[rabbitmq_amqp1_0,rabbitmq_auth_mechanism_ssl,rabbitmq_stream].\n"


class BrokerError(Exception):
    """RabbitMQ cannot be installed, started or reached; the text says why and what to do."""


# --- installing ---------------------------------------------------------------------------------


def find_sbin() -> Path | None:
    """The directory of RabbitMQ's own scripts.

    Not /usr/sbin: what Debian puts there are wrappers that change to the system's user and node.
    """
    for path in sorted(glob.glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin"), reverse=True):
        if (Path(path) / "rabbitmq-server").exists():
            return Path(path)
    on_path = shutil.which("rabbitmq-server")
    if on_path:
        folder = Path(on_path).resolve().parent
        if (folder / "rabbitmq-env").exists():
            return folder
    return None


def find_epmd() -> str | None:
    """The port mapper of Erlang; Debian has it on the path, a plain OTP build may not."""
    on_path = shutil.which("epmd")
    if on_path:
        return on_path
    paths = sorted(glob.glob("/usr/lib/erlang/erts-*/bin/epmd"), reverse=True)
    return paths[0] if paths else None


@contextlib.contextmanager
def no_service_start() -> Iterator[None]:
    """Keep the package from starting its own service: dpkg asks policy-rc.d, 101 means no."""
    if POLICY.exists():
        yield  # somebody else's policy (every Debian image for containers has one): leave it
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)


def apt(*arguments: str) -> None:
    """Run apt-get without questions; its output is shown only when it fails."""
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8")
    command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=180", *arguments]
    try:
        process = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=APT_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise BrokerError(f"{' '.join(command)} took longer than {APT_SECONDS} s") from error
    if process.returncode:
        raise BrokerError(f"{' '.join(command)} failed:\n{tail(process.stdout)}")


def install() -> Path:
    """Install Debian's rabbitmq-server when there is none; return RabbitMQ's script directory."""
    sbin = find_sbin()
    if sbin and find_epmd():
        return sbin
    if shutil.which("apt-get") is None:
        raise BrokerError("RabbitMQ is not installed and there is no apt-get: install it by hand")
    if os.geteuid() != 0:
        raise BrokerError(
            "RabbitMQ is not installed and installing needs root: "
            "run `apt-get install --no-install-recommends rabbitmq-server` as root first"
        )
    say("installing rabbitmq-server (Debian)")
    with no_service_start():
        apt("update")
        apt("install", "-y", "--no-install-recommends", "rabbitmq-server")
    sbin = find_sbin()
    if sbin is None or find_epmd() is None:
        raise BrokerError("rabbitmq-server was installed but its scripts were not found")
    return sbin


def install_perl() -> None:
    """Install Debian's libnet-amqp-perl where that can be done; the tests do without it, too."""
    if not shutil.which("perl") or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    process = subprocess.run(["perl", "-MNet::AMQP", "-e1"], capture_output=True, timeout=60)
    if process.returncode == 0:
        return
    say("installing libnet-amqp-perl (Debian)")
    try:
        apt("update")
        apt("install", "-y", "--no-install-recommends", "libnet-amqp-perl")
    except BrokerError as error:
        say(f"without Net::AMQP: {error}")


def install_proton() -> None:
    """Install python-qpid-proton where that can be done; the tests do without it, too."""
    if importlib.util.find_spec("proton"):
        return
    say(f"installing {PROTON}")
    try:
        if shutil.which("apt-get") and os.geteuid() == 0:  # where it has to be compiled
            apt("update")
            apt("install", "-y", "--no-install-recommends", "libsasl2-dev", "libssl-dev")
    except BrokerError as error:
        say(str(error))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", PROTON]
    with contextlib.suppress(subprocess.TimeoutExpired):
        if subprocess.run(pip, stdin=subprocess.DEVNULL, timeout=APT_SECONDS).returncode == 0:
            return
    say(f"without {PROTON}")


# --- processes ----------------------------------------------------------------------------------


def start_time(pid: int) -> str | None:
    """A process's start time, so that a reused id is not taken for ours; None when it is gone.

    A zombie counts as gone: the first process of a container often reaps nobody.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def stop_process(pid: int, started: str | None, seconds: float) -> None:
    """End one process of ours: politely, then by force."""
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)):
        if started is None or start_time(pid) != started:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and start_time(pid) == started:
            time.sleep(0.05)


def die_with_parent() -> None:
    """Between fork and exec: ask Linux to end this child when `run` itself is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_ports(count: int) -> list[int]:
    """Different free ports of loopback (all held at once while they are chosen)."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def require_free(port: int) -> None:
    """Refuse a port that somebody listens on: the server would only say so after seconds."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BrokerError(f"port {port} of {HOST}: {error.strerror}") from error


# --- one node -----------------------------------------------------------------------------------


class Node:
    """One private node; all that it owns lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        """Take up the node of that directory, as its state file describes it."""
        self.folder = folder
        self.children: list[subprocess.Popen[bytes]] = []
        self.state: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            self.state = json.loads((folder / "state.json").read_text())

    @property
    def address(self) -> str:
        """host:port of the AMQP listener."""
        return f"{HOST}:{self.state['port']}"

    @property
    def variables(self) -> dict[str, str]:
        """What a test needs to know."""
        return {
            ENV_ADDRESS: self.address,
            ENV_STREAM: f"{HOST}:{self.state['stream_port']}",
            ENV_DIR: str(self.folder),
        }

    def running(self) -> bool:
        """Whether the server process of the state file is alive."""
        server = self.state.get("server")
        return server is not None and start_time(server["pid"]) == server["started"]

    def environment(self) -> dict[str, str]:
        """The environment for the server and for rabbitmqctl: nothing of the machine's own node."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RABBITMQ_", "ERL_", "NOTIFY_SOCKET", "XDG_CONFIG"))
        }
        folder = str(self.folder)
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        return {
            **clean,
            "PATH": clean.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": folder,  # the Erlang cookie lives there
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(self.state["epmd_port"]),
            "ERL_CRASH_DUMP_SECONDS": "0",
            "RABBITMQ_NODENAME": f"amqpcodec_{self.state['port']}@localhost",
            "RABBITMQ_DIST_PORT": str(self.state["dist_port"]),
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/rabbitmq-env.conf",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{folder}/advanced.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_PID_FILE": f"{folder}/rabbitmq.pid",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback,
            "RABBITMQ_CTL_ERL_ARGS": loopback,
            # Makes the start script become the server instead of waiting for it: one process id.
            "RUNNING_UNDER_SYSTEMD": "true",
        }

    def write_files(self, port: int | None) -> None:
        """Choose the ports and write what the node reads at start."""
        broker_port, dist_port, epmd_port, stream_port = free_ports(4)
        self.state = {
            "port": port or broker_port,
            "dist_port": dist_port,
            "epmd_port": epmd_port,
            "stream_port": stream_port,
        }
        for name in ("mnesia", "log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        config = CONFIG.format(host=HOST, port=self.state["port"], stream_port=stream_port)
        (self.folder / "rabbitmq.conf").write_text(config)
        (self.folder / "rabbitmq-env.conf").write_text("")
        (self.folder / "advanced.config").write_text("[].\n")
        (self.folder / "enabled_plugins").write_text(PLUGINS)
        cookie = self.folder / ".erlang.cookie"
        cookie.unlink(missing_ok=True)
        cookie.write_text(secrets.token_hex(20))
        cookie.chmod(0o400)

    def spawn(self, name: str, command: list[str], attached: bool) -> subprocess.Popen[bytes]:
        """Start one process of the node and note it in the state file at once."""
        with open(self.folder / "log" / f"{name}.out", "wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for CMD; the node is stopped after it
                preexec_fn=die_with_parent if attached and sys.platform == "linux" else None,
            )
        self.children.append(process)
        self.state[name] = {"pid": process.pid, "started": start_time(process.pid)}
        (self.folder / "state.json").write_text(json.dumps(self.state, indent=1))
        return process

    def start(self, *, port: int | None = None, attached: bool = False) -> None:
        """Start epmd and the server, wait until it speaks AMQP. attached: end with this process."""
        sbin = install()
        epmd = find_epmd() or "epmd"
        if port is not None:
            require_free(port)
        self.write_files(port)
        begin = time.monotonic()
        try:
            ports = ["-address", HOST, "-port", str(self.state["epmd_port"])]
            self.spawn("epmd", [epmd, *ports], attached)
            server = self.spawn("server", [str(sbin / "rabbitmq-server")], attached)
            while not self.answers():
                if server.poll() is not None:
                    raise BrokerError(f"the server ended with status {server.returncode}")
                if time.monotonic() - begin > BOOT_SECONDS:
                    raise BrokerError(f"no answer on {self.address} after {BOOT_SECONDS} s")
                time.sleep(0.2)
        except BrokerError as error:
            logs = "".join(
                f"\n--- {path.name}\n{tail(path.read_text(errors='replace'))}"
                for path in sorted((self.folder / "log").glob("*.*"))
            )
            self.stop()
            raise BrokerError(f"{error}{logs}") from error
        say(f"{self.address} is up after {time.monotonic() - begin:.1f} s")

    def answers(self) -> bool:
        """Whether the listener answers a protocol header with a method frame (connection.start)."""
        try:
            with socket.create_connection((HOST, self.state["port"]), timeout=2) as link:
                link.sendall(b"AMQP\x00\x00\x09\x01")
                return link.recv(1) == b"\x01"
        except OSError:
            return False

    def stop(self) -> None:
        """End the server and its epmd; harmless when they are gone."""
        for name, patience in (("server", STOP_SECONDS), ("epmd", 3)):
            process = self.state.pop(name, None)
            if process:
                stop_process(process["pid"], process["started"], patience)
        for child in self.children:
            child.poll()  # reap it: an unreaped child would stay as a zombie in a container
        (self.folder / "state.json").unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete all files of the node."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def ctl(self, arguments: list[str]) -> int:
        """Run rabbitmqctl against this node; its exit status."""
        command = [str(install() / "rabbitmqctl"), *arguments]
        try:
            return subprocess.run(command, env=self.environment(), timeout=CTL_SECONDS).returncode
        except subprocess.TimeoutExpired:
            raise BrokerError(f"rabbitmqctl took longer than {CTL_SECONDS} s") from None


# --- commands -----------------------------------------------------------------------------------


def say(text: str) -> None:
    """One line of progress; standard output belongs to CMD."""
    print(f"broker: {text}", file=sys.stderr, flush=True)


def tail(text: str, lines: int = 30) -> str:
    """The end of a log."""
    return "\n".join(text.splitlines()[-lines:])


def base_folder() -> Path:
    """Where the nodes' directories go: the repository's .cache, or the temporary directory."""
    own = Path(tempfile.gettempdir()) / f"amqpcodec-broker-{os.getuid()}"
    for folder in (REPO / ".cache" / "broker", own):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        # Cookies lie in it: not in a directory that somebody else made.
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    raise BrokerError("neither .cache nor the temporary directory can be written")


def remove_leftovers() -> None:
    """Delete what runs that were killed left behind (old ones only: others may be starting)."""
    for folder in base_folder().glob("run-*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > 3600 and not Node(folder).running():
                shutil.rmtree(folder, ignore_errors=True)


def stop_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Turn a signal into an exit, so that the node is stopped on the way out."""
    raise SystemExit(128 + number)


def command_install(_options: argparse.Namespace) -> int:
    """Print where RabbitMQ's scripts are."""
    print(install())
    install_perl()
    install_proton()
    return 0


def command_start(options: argparse.Namespace) -> int:
    """Start the standing node, or find it up; print its variables."""
    node = Node(base_folder() / "standing")
    if node.running():
        say(f"{node.address} is up already")
    else:
        node.stop()  # a left-over epmd of a node that crashed
        node.remove()
        node.start(port=options.port)
    for name, value in node.variables.items():
        print(f"export {name}={value}")
    return 0


def command_stop(_options: argparse.Namespace) -> int:
    """Stop the standing node."""
    node = Node(base_folder() / "standing")
    if not node.state:
        say("not running")
        return 0
    node.stop()
    node.remove()
    say("stopped")
    return 0


def command_status(_options: argparse.Namespace) -> int:
    """Tell whether the standing node answers."""
    node = Node(base_folder() / "standing")
    if node.running() and node.answers():
        print(f"running {node.address} pid {node.state['server']['pid']} {node.folder}")
        return 0
    print("not answering" if node.running() else "not running")
    return 3


def command_ctl(options: argparse.Namespace) -> int:
    """Pass a command to rabbitmqctl."""
    node = Node(Path(os.environ.get(ENV_DIR) or base_folder() / "standing"))
    if not node.running():
        say("not running")
        return 3
    return node.ctl(options.command)


def command_run(options: argparse.Namespace) -> int:
    """Start a node of its own for one command."""
    if not options.command:
        say("run: no command given")
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    remove_leftovers()
    node = Node(Path(tempfile.mkdtemp(prefix="run-", dir=base_folder())))
    try:
        node.start(port=options.port, attached=True)
        return run_command(options.command, {**os.environ, **node.variables})
    finally:
        node.stop()
        if options.keep:
            say(f"files kept in {node.folder}")
        else:
            node.remove()


def run_command(command: list[str], environment: dict[str, str]) -> int:
    """Run CMD to its end; its exit status as a shell gives it."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        say(f"{command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    interrupted = False
    try:
        while True:
            try:
                status = process.wait()
                return 128 - status if status < 0 else status
            except KeyboardInterrupt:
                if interrupted:  # the terminal sent the first one to CMD as well
                    raise
                interrupted = True
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "install": command_install,
    "start": command_start,
    "stop": command_stop,
    "status": command_status,
    "ctl": command_ctl,
    "run": command_run,
}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line; all after `--` is CMD's own."""
    own, has_command, command = arguments, "--" in arguments, []
    if has_command:
        place = arguments.index("--")
        own, command = arguments[:place], arguments[place + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=COMMANDS)
    parser.add_argument("--port", type=int, help="AMQP port (start, run); a free one by default")
    parser.add_argument("--keep", action="store_true", help="keep the node's files (run)")
    options = parser.parse_args(own)
    if command and options.do not in ("run", "ctl"):
        parser.error(f"{options.do} takes no command")
    options.command = command
    return options


def main(arguments: list[str]) -> int:
    """Run one command; its exit status."""
    options = parse(arguments)
    try:
        return COMMANDS[options.do](options)
    except BrokerError as error:
        say(str(error))
        return 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
