#!/usr/bin/env python3
"""Build and test amqpcodec in a chroot of a Debian suite, with the CPythons that the suite has.

    python scripts/debian_suite.py sid       all steps, with the suite's python3 and its newest one
    python scripts/debian_suite.py sid --python 3.15 --step build --step rooms

debootstrap makes the chroot in .cache/SUITE with this machine's settings of apt (the address of
Debian's archive, its key, proxies, certificates). A later run updates it and uses it again. Needs
root and a network; apt-get installs debootstrap where it is missing. The files of this checkout are
copied into the chroot as they are, also those that are not committed.

Steps: `build` (make build), `rooms` (make rooms-test: the core, what stands on it, the drop-ins),
`dropins` (every drop-in knows the version of its client that pyproject.toml names), `readme` (what
README.md says under Install, the command that it shows, its examples) and `demo` (make demo).

Exit status: 0; 1 a step failed; 2 usage; 4 the chroot cannot be made or updated, and one line on
stderr says why: not root, may not mount, no debootstrap, no network, no such suite or package.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
SHARED = REPO.parent / "shared"
APT = Path("/etc/apt")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CERTIFICATES = Path("/usr/local/share/ca-certificates")
OLDEST = (3, 11)
PACKAGES = ("ca-certificates", "ccache", "gcc", "git", "libc6-dev", "make")
#: The folder of the checkout within the chroot.
INSIDE = "/build/amqpcodec"
#: Settings of apt that say how it reaches an archive, not what it reads there.
REACHES = re.compile(r"Acquire::(?!IndexTargets|Changelogs|CompressionTypes|cdrom)")
#: Variables of this machine that programs in the chroot get.
PASSED_ON = re.compile(
    r"(?i).*_proxy|PIP_(?!FIND_LINKS).*|SSL_CERT_.*|.*_CA_BUNDLE|CI|AMQPCODEC_\w+"
)

DROP_INS = """
import warnings
import amqpcodec
from amqpcodec.compat import CompatWarning
warnings.simplefilter("error", CompatWarning)
amqpcodec.install("amqp", "azure", "pamqp", "pika")
print("every drop-in knows its client")
"""

#: Step -> commands of a shell in the checkout; {python} is python3.N, {venv} its environment.
STEPS = {
    "build": "make build PYTHON={python} VENV={venv}",
    "rooms": "make rooms-test PYTHON={python} VENV={venv}",
    "dropins": f"""
        make {{venv}}/done/with-clients PYTHON={{python}} VENV={{venv}}
        {{venv}}/bin/python -c {shlex.quote(DROP_INS)}
    """,
    "readme": """
        {python} -m venv --clear {venv}-user
        {venv}-user/bin/pip install --quiet .
        {venv}-user/bin/pip install --quiet ".[cli,arrow]"
        {venv}-user/bin/amqpcodec dissect demo/kombu_celery.pcap.gz --format json \
            --fields timestamp,channel,arguments \
            --where "arguments.queue == pa.q and channel == 1 and method == basic.get" \
            | grep 2026-11-21T00:56:02.660285Z
        make PYTHON={python} VENV={venv} {venv}/done/built {venv}/done/with-test \
            {venv}/done/with-clients {venv}/done/with-cli {venv}/done/with-spec
        {venv}/bin/python -m pytest -q tests/readme
    """,
    "demo": "make demo PYTHON={python} VENV={venv}",
}


class SuiteError(Exception):
    """The chroot cannot be made; the text says why and what to do."""


def read_output(*command: str | Path) -> str:
    """What a command prints; SuiteError where it fails or is not there."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise SuiteError(f"{command[0]} is missing: install it") from None
    except subprocess.CalledProcessError as error:
        reason = first_error(error.stdout + error.stderr)
        raise SuiteError(f"{' '.join(map(str, command))} fails: {reason}") from None


def first_error(output: str | None) -> str:
    """The first line of apt-get or debootstrap that is an error, else the last one."""
    lines = [line.strip() for line in (output or "").splitlines() if line.strip()]
    errors = [line.removeprefix("E: ") for line in lines if line.startswith("E: ")]
    return (errors or lines[-1:] or ["it printed nothing"])[0]


# --- the machine's settings ---------------------------------------------------------------------


def archives(folder: Path = APT) -> Iterator[tuple[str, list[str]]]:
    """(address, components) of each entry of apt's sources for binary packages."""
    paths = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*.list"))]
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            match = re.match(r"deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+\S+\s+(.+)", line)
            if match:
                yield match[1], match[2].split()
    for path in sorted((folder / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = {
                name.lower(): value.split()
                for name, value in re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.M)
            }
            if "deb" in fields.get("types", ()) and fields.get("enabled") != ["no"]:
                for address in fields.get("uris", ()):
                    yield address, fields.get("components", [])


def find_mirror(folder: Path = APT) -> str:
    """The address of Debian's archive in apt's sources."""
    for address, components in archives(folder):
        if address.rstrip("/").endswith("/debian") and "main" in components:
            return address
    raise SuiteError(f"no source in {folder} is Debian's archive: name one with --mirror")


def apt_settings() -> list[str]:
    """The lines of this machine's settings of apt; none where it has no apt."""
    return read_output("apt-config", "dump").splitlines() if shutil.which("apt-config") else []


def acquire_settings() -> str:
    """The settings by which this machine's apt reaches an archive, as a file of apt.conf.d."""
    lines = apt_settings()
    return "".join(f"{line}\n" for line in lines if REACHES.match(line) and ' "";' not in line)


def proxies() -> dict[str, str]:
    """Variables for programs that do not read apt's settings: debootstrap."""
    matches = [re.match(r'Acquire::(https?)::Proxy "(.+)";', line) for line in apt_settings()]
    return {f"{match[1]}_proxy": match[2] for match in matches if match}


def install_debootstrap() -> None:
    """Install it by this machine's apt-get."""
    reason = ""
    if shutil.which("apt-get"):
        command = ["apt-get", "-qy", "install", "debootstrap"]
        print("$", *command, flush=True)
        process = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if process.returncode == 0:
            return
        reason = f" ({first_error(process.stdout)})"
    raise SuiteError(f"debootstrap is missing and apt-get cannot install it{reason}: install it")


# --- the chroot ---------------------------------------------------------------------------------


class Chroot:
    """A Debian suite in a folder of its own."""

    def __init__(self, suite: str, folder: Path, mirror: str | None) -> None:
        self.suite = suite
        self.folder = folder
        self.mirror = mirror
        self.complete = folder / ".amqpcodec-complete"

    def make(self) -> None:
        """Make it, or update the one that is there."""
        if os.geteuid() != 0:
            raise SuiteError("a chroot needs root: sudo make newest-test SUITE=" + self.suite)
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            raise SuiteError(
                "this root may not mount file systems: run on a machine of its own, or in a "
                "container with --privileged"
            )
        if not self.complete.exists():
            self._bootstrap()
        # Host names and keys of today, whenever the chroot was made.
        shutil.copy("/etc/resolv.conf", self.folder / "etc" / "resolv.conf")
        settings = self.folder / "etc" / "apt" / "apt.conf.d" / "00machine"
        settings.write_text(acquire_settings(), encoding="utf-8")
        for name in ("auth.conf.d", "trusted.gpg.d"):
            if (APT / name).is_dir():
                shutil.copytree(APT / name, self.folder / "etc/apt" / name, dirs_exist_ok=True)
        if CERTIFICATES.is_dir():
            shutil.copytree(
                CERTIFICATES, self.folder / CERTIFICATES.relative_to("/"), dirs_exist_ok=True
            )
        if Path("/etc/pip.conf").is_file():
            shutil.copy("/etc/pip.conf", self.folder / "etc")
        self._prepare("update-ca-certificates", "cannot take this machine's certificates")
        # without --error-on, apt-get goes on with what it read earlier where there is no network
        update = "apt-get -q update --error-on=any && apt-get -qy dist-upgrade"
        self._prepare(update, "cannot be updated", "; check the network")

    def _bootstrap(self) -> None:
        if shutil.which("debootstrap") is None:
            install_debootstrap()
        if self.folder.exists():
            if any(self.folder.iterdir()) and not (self.folder / "debootstrap").is_dir():
                raise SuiteError(f"{self.folder} is no chroot: name another one with --folder")
            shutil.rmtree(self.folder)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
        if KEYRING.is_file():
            command.append(f"--keyring={KEYRING}")
        command += [self.suite, str(self.folder), self.mirror or find_mirror()]
        print("$", *command[:-1], flush=True)  # an address may hold a password
        process = subprocess.run(
            command,
            env={**proxies(), **os.environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if process.returncode:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise SuiteError(
                f"debootstrap cannot make {self.suite}: {first_error(process.stdout)}; "
                "check the network and the name of the suite"
            )
        self.complete.touch()

    def _prepare(self, script: str, problem: str, advice: str = "") -> None:
        """Run a script that the steps need; where it fails, one line says what the chroot lacks."""
        try:
            self.run(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except subprocess.CalledProcessError as error:
            reason = first_error(error.stdout)
            raise SuiteError(f"the chroot of {self.suite} {problem}: {reason}{advice}") from None

    def run(self, script: str, **options: object) -> None:
        """Run a script of sh in the chroot, in the folder of the checkout where that is there.

        The mounts that it needs are in a namespace of its own and end with it.
        """
        root = shlex.quote(str(self.folder))
        mounts = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        if SHARED.is_dir():
            shared = self.folder / "work" / "shared"
            shared.mkdir(parents=True, exist_ok=True)
            mounts.append(
                f"mount --bind -o ro {shlex.quote(str(SHARED))} {shlex.quote(str(shared))}"
            )
        environment = {
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "CC": "ccache gcc",  # one version is compiled twice, and again in the next run
            "DEBIAN_FRONTEND": "noninteractive",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        }
        inside = f"mkdir -p {INSIDE}; cd {INSIDE}; {script}"
        outside = f"{' && '.join(mounts)} && exec chroot {root} sh -ec {shlex.quote(inside)}"
        # propagation stays "private", unshare's own choice: nothing is mounted for the machine
        command = ["unshare", "--mount", "--", "sh", "-ec", outside]
        options |= {"check": True, "env": environment, "stdin": subprocess.DEVNULL}
        subprocess.run(command, **options)  # type: ignore[call-overload]

    def pythons(self) -> list[str]:
        """The version that the suite calls python3, and its newest: ["3.14", "3.15"]."""
        cache = ("chroot", self.folder, "apt-cache")
        names = read_output(*cache, "pkgnames", "python3.")
        versions = re.findall(r"^python(3\.\d+)$", names, re.M)
        newest = max(versions, key=numbers, default="")
        needs = read_output(*cache, "depends", "python3")
        default = re.findall(r"Depends: python(3\.\d+)$", needs, re.M)
        usable = {one for one in (*default, newest) if one and numbers(one) >= OLDEST}
        return sorted(usable, key=numbers)

    def install(self, versions: list[str]) -> None:
        """Install what a build needs, with these versions of CPython."""
        packages = [*PACKAGES]
        for version in versions:
            packages += [f"python{version}{part}" for part in ("", "-dev", "-venv")]
        print("installing", *packages, flush=True)
        command = f"apt-get -qy install --no-install-recommends {' '.join(packages)}"
        self._prepare(command, "cannot install what a build needs")

    def copy_checkout(self) -> None:
        """Copy the files that git knows or would add; of an earlier run only environments stay."""
        target = self.folder / INSIDE.lstrip("/")
        for path in target.iterdir() if target.is_dir() else ():
            if path.is_dir() and not path.is_symlink():
                if not path.name.startswith(".venv-"):
                    shutil.rmtree(path)
            else:
                path.unlink()
        command = ("git", "-C", REPO, "ls-files", "-z", "-co", "--exclude-standard")
        for name in filter(None, read_output(*command).split("\0")):
            if (REPO / name).is_file():  # not one that was removed and is still in the index
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPO / name, target / name)


def numbers(version: str) -> tuple[int, ...]:
    """ "3.14" as (3, 14)."""
    return tuple(map(int, version.split(".")))


def processor_seconds() -> float:
    """What ended child processes used of processors; a busy machine does not change it."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check(chroot: Chroot, version: str, steps: list[str]) -> list[str]:
    """Run the steps with one Python; those that failed."""
    failed = []
    for step in steps:
        start, processor = time.monotonic(), processor_seconds()
        print(f"\n== {chroot.suite}, Python {version}: {step}", flush=True)
        names = {"python": f"python{version}", "venv": f".venv-{version}"}
        try:
            chroot.run(STEPS[step].format(**names))
        except subprocess.CalledProcessError:
            failed.append(f"{version} {step}")
        print(
            f"== {step} took {time.monotonic() - start:.0f} s, "
            f"{processor_seconds() - processor:.0f} s of processors",
            flush=True,
        )
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Run the steps; the exit status of the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", help="a suite of Debian, such as sid or trixie")
    parser.add_argument("--python", action="append", metavar="3.N", help="one version; else all")
    parser.add_argument("--step", action="append", choices=STEPS, help="one step; else all")
    parser.add_argument("--folder", type=Path, help="of the chroot; default: .cache/SUITE")
    parser.add_argument("--mirror", help="address of Debian's archive; default: that of apt")
    options = parser.parse_args(arguments)
    folder = (options.folder or REPO / ".cache" / options.suite).absolute()
    chroot = Chroot(options.suite, folder, options.mirror)
    try:
        chroot.make()
        versions = options.python or chroot.pythons()
        if not versions:
            raise SuiteError(f"{options.suite} has no CPython from {OLDEST[0]}.{OLDEST[1]} on")
        chroot.install(versions)
        chroot.copy_checkout()
    except SuiteError as problem:
        print(f"debian_suite: {problem}", file=sys.stderr)
        return 4
    failed = [
        one for version in versions for one in check(chroot, version, options.step or [*STEPS])
    ]
    if failed:
        print(f"\nfailed in {options.suite}: {', '.join(failed)}")
        return 1
    print(f"\nall steps passed in {options.suite} with Python {', '.join(versions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
