"""Build the source archive so that the same commit gives the same bytes wherever it is built.

    python scripts/sdist.py [--outdir DIR] [--no-isolation] [--repository URL] [SOURCE]

SOURCE is a clone, by default this one. The metadata (project.urls) links to the repository that is
given: where it was published from, which a clone does not know. setuptools writes the time and the
owner of each file and of the archive: they are set to the commit's time (or SOURCE_DATE_EPOCH) and
to nobody, and the files are sorted. Prints the archive's SHA-256. Needs the package `build`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def source_time(source: Path) -> int:
    """Seconds since 1970 that every file of the archive gets."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=source, capture_output=True, check=True).stdout)


def normalise(archive: bytes, seconds: int) -> bytes:
    """The same files in a gzipped tar that says nothing of where and when it was made."""
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as source,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as written,
    ):
        for member in sorted(source.getmembers(), key=lambda entry: entry.name):
            if not member.isfile():
                continue
            clean = tarfile.TarInfo(member.name)
            clean.size = member.size
            clean.mtime = seconds
            clean.mode = 0o755 if member.mode & 0o100 else 0o644
            written.addfile(clean, source.extractfile(member))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=seconds) as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()


def urls(repository: str) -> str:
    """The table project.urls of a repository on GitHub, or on what has the same paths."""
    paths = {
        "Source": "",
        "Documentation": "/tree/main/docs",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    repository = repository.rstrip("/")
    lines = [f'{name} = "{repository}{path}"\n' for name, path in paths.items()]
    return "".join(["\n[project.urls]\n", *lines])


def linked(source: Path, folder: Path, repository: str) -> Path:
    """The files of a clone's index, in a folder, with links to the repository."""
    command = ["git", "checkout-index", "--all", f"--prefix={folder}/"]
    subprocess.run(command, cwd=source, check=True)
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as metadata:
        metadata.write(urls(repository))
    readme = folder / "README.md"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository), encoding="utf-8")
    return folder


def absolute(page: str, repository: str) -> str:
    """A page of the repository for PyPI, which has none of its files: links to the repository."""
    return re.sub(r"\]\((?![a-z]+:|#)", f"]({repository.rstrip('/')}/blob/main/", page)


def build(source: Path, outdir: Path, *options: str, repository: str = "") -> Path:
    """Build the archive of a source folder, normalised; where it was put. options: of `build`."""
    seconds = source_time(source)
    outdir.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="amqpcodec-sdist-") as folder,
        tempfile.TemporaryDirectory(prefix="amqpcodec-source-") as copy,
    ):
        if repository:
            source = linked(source, Path(copy), repository)
        command = [
            sys.executable,
            "-m",
            "build",
            "--sdist",
            "--outdir",
            folder,
            *options,
            str(source),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tar.gz")
        target = outdir / archive.name
        target.write_bytes(normalise(archive.read_bytes(), seconds))
    return target


def main() -> int:
    """Build, and print the archive's hash and name as sha256sum does."""
    parser = argparse.ArgumentParser(description="Build the source archive reproducibly.")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    parser.add_argument("--no-isolation", action="store_true", help="build with what is installed")
    parser.add_argument("--repository", default="", metavar="URL", help="linked to")
    parser.add_argument("source", nargs="?", type=Path, default=ROOT)
    options = parser.parse_args()
    isolation = ["--no-isolation"][: options.no_isolation]
    archive = build(options.source, options.outdir, *isolation, repository=options.repository)
    print(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
