"""What the chroot of a Debian suite takes from the machine: the archive, how it is reached."""

from __future__ import annotations

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
    ("line", "taken"),
    [
        ('Acquire::http::Proxy "http://proxy.example:3128";', True),
        ('Acquire::Check-Valid-Until "false";', True),
        ('Acquire::IndexTargets::deb::Packages::MetaKey "x";', False),
        ('DPkg::Post-Invoke:: "rm -f /var/cache/apt/*.bin || true";', False),
    ],
)
def test_settings_of_apt(line: str, taken: bool) -> None:
    assert bool(debian_suite.REACHES.match(line)) is taken


@pytest.mark.parametrize("step", debian_suite.STEPS)
def test_every_step_names_its_python(step: str) -> None:
    script = debian_suite.STEPS[step].format(python="python3.99", venv=".venv-3.99")
    assert "3.99" in script
    assert "{" not in script


def test_versions_are_sorted_as_numbers() -> None:
    assert max(["3.9", "3.14", "3.2"], key=debian_suite.numbers) == "3.14"
