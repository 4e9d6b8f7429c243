"""What the chroot of a Debian suite takes from the machine: the archive, how it is reached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import debian_suite

ONE_LINE = """\
# deb http://commented.example/debian sid main
deb-src http://sources.example/debian bookworm main
deb [arch=amd64 signed-by=/etc/apt/keyrings/x.asc] https://other.example/packages stable main
deb http://mirror.example/debian/ bookworm main contrib
"""
STANZAS = """\
Types: deb
# a remark
URIs: http://off.example/debian
Suites: sid
Components: main
Enabled: no

Types: deb
URIs: https://security.example/debian-security
Suites: bookworm-security
Components: main

Types: deb deb-src
URIs: https://first.example/debian https://second.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 URIs: http://key.example/debian
"""


def apt_folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        target = path / name.replace("__", "/").replace("_", ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return path


def test_the_archive_of_a_file_of_lines(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, sources_list=ONE_LINE)
    assert debian_suite.find_mirror(folder) == "http://mirror.example/debian/"


def test_the_archive_of_stanzas(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, sources_list_d__debian_sources=STANZAS)
    assert debian_suite.find_mirror(folder) == "https://first.example/debian"


def test_no_archive(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, sources_list_d__x_list="deb http://a.example/other sid main\n")
    with pytest.raises(debian_suite.SuiteError, match="--mirror"):
        debian_suite.find_mirror(folder)


@pytest.mark.parametrize(
    ("name", "passed_on"),
    [
        ("http_proxy", True),
        ("HTTPS_PROXY", True),
        ("PIP_CERT", True),
        ("SSL_CERT_FILE", True),
        ("AMQPCODEC_WERROR", True),
        ("PIP_FIND_LINKS", False),
        ("PYTHONPATH", False),
        ("VIRTUAL_ENV", False),
        ("A_TOKEN", False),
    ],
)
def test_variables_of_the_machine(name: str, passed_on: bool) -> None:
    assert bool(debian_suite.PASSED_ON.fullmatch(name)) is passed_on


@pytest.mark.parametrize(
    ("line", "is_match"),
    [
        ('Acquire::http::Proxy "http://proxy.example:3128";', True),
        ('Acquire::Check-Valid-Until "false";', True),
        ('Acquire::IndexTargets::deb::Packages::MetaKey "x";', False),
        ('DPkg::Post-Invoke:: "rm -f /var/cache/apt/*.bin || true";', False),
    ],
)
def test_settings_of_apt(line: str, is_match: bool) -> None:
    assert bool(debian_suite.REACHES.match(line)) is is_match


@pytest.mark.parametrize("step", debian_suite.STEPS)
def test_every_step_names_its_python(step: str) -> None:
    script = debian_suite.STEPS[step].format(python="python3.99", venv=".venv-3.99")
    assert "3.99" in script
    assert "{" not in script


def test_versions_are_sorted_as_numbers() -> None:
    assert max(["3.9", "3.14", "3.2"], key=debian_suite.numbers) == "3.14"


# --- where no chroot can be made: one line, exit status 4 ---


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """Let this process find these programs alone, scripts of sh, and be root."""
    folder.mkdir()
    for name, script in scripts.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def only_line(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the program writes to stderr, a line, where it ends with exit status 4."""
    assert debian_suite.main(["sid", "--mirror", "http://mirror.example/debian", *arguments]) == 4
    (line,) = capfd.readouterr().err.splitlines()
    return line


def test_without_root(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert only_line(capfd) == (
        "debian_suite: a chroot needs root: sudo make newest-test SUITE=sid"
    )


def test_root_that_may_not_mount(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, unshare="echo refused >&2; exit 1")
    line = only_line(capfd, "--folder", str(tmp_path / "sid"))
    assert "may not mount" in line
    assert "--privileged" in line


@pytest.mark.parametrize(
    "scripts",
    [{}, {"apt_get": "echo E: Unable to locate package debootstrap >&2; exit 100"}],
    ids=["no apt-get", "apt-get has none"],
)
def test_without_debootstrap(
    scripts: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs(tmp_path / "bin", monkeypatch, unshare="exit 0", **scripts)
    line = only_line(capfd, "--folder", str(tmp_path / "sid"))
    assert line.startswith("debian_suite: debootstrap is missing and apt-get cannot install it")
    assert "install it" in line
    assert ("Unable to locate package debootstrap" in line) is bool(scripts)


def test_debootstrap_without_a_network(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(
        tmp_path / "bin",
        monkeypatch,
        unshare="exit 0",
        debootstrap="echo I: Retrieving InRelease; echo E: Failed getting release file x; exit 1",
    )
    line = only_line(capfd, "--folder", str(tmp_path / "sid"))
    assert line == (
        "debian_suite: debootstrap cannot make sid: Failed getting release file x; "
        "check the network and the name of the suite"
    )
    assert not (tmp_path / "sid").exists()


def test_an_older_chroot_without_a_network(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt-get update alone ends with 0 there, and the steps would run on what is old."""
    commands: list[str] = []

    def run(self: debian_suite.Chroot, script: str, **options: object) -> None:
        commands.append(script)
        if "apt-get" in script:
            output = (
                "Err:1 http://mirror.example\nE: Failed to fetch http://mirror.example\nE: more"
            )
            raise subprocess.CalledProcessError(100, script, output)

    programs(tmp_path / "bin", monkeypatch, unshare="exit 0", apt_config="exit 0")
    monkeypatch.setattr(debian_suite.Chroot, "run", run)
    folder = tmp_path / "sid"
    (folder / "etc" / "apt" / "apt.conf.d").mkdir(parents=True)
    (folder / ".amqpcodec-complete").touch()
    line = only_line(capfd, "--folder", str(folder))
    assert "--error-on=any" in commands[-1]
    assert line == (
        "debian_suite: the chroot of sid cannot be updated: Failed to fetch http://mirror.example; "
        "check the network"
    )


def test_a_folder_that_is_no_chroot_stays(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, unshare="exit 0", debootstrap="exit 0")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("kept", encoding="utf-8")
    line = only_line(capfd, "--folder", str(tmp_path / "home"))
    assert "is no chroot" in line
    assert (tmp_path / "home" / "letter").read_text(encoding="utf-8") == "kept"


def test_a_chroot_that_was_not_finished_is_made_anew(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, unshare="exit 0", debootstrap="echo E: again; exit 1")
    (tmp_path / "sid" / "debootstrap").mkdir(parents=True)
    assert "again" in only_line(capfd, "--folder", str(tmp_path / "sid"))
    assert not (tmp_path / "sid").exists()


def test_this_machine_without_a_network(tmp_path: Path) -> None:
    """The real debootstrap, in a namespace that has no network."""
    alone = ["unshare", "--net", "--"]
    if not all(map(shutil.which, ("unshare", "debootstrap"))) or (
        subprocess.run([*alone, "true"], capture_output=True).returncode
    ):
        pytest.skip("needs root and debootstrap")
    program = [sys.executable, debian_suite.__file__, "sid", "--folder", tmp_path / "sid"]
    run = subprocess.run(
        [*alone, *program, "--mirror", "http://mirror.invalid/debian"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 4, run.stdout + run.stderr
    assert run.stderr.startswith("debian_suite: debootstrap cannot make sid: Failed")
    assert run.stderr.count("\n") == 1
    assert "check the network" in run.stderr
