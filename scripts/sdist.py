"""Build the source archive so that the same commit gives the same bytes wherever it is built.

    python scripts/sdist.py [--outdir DIR] [--no-isolation] [SOURCE]

SOURCE is a clone, by default this one. setuptools writes the time and the owner of each file and of
the archive: they are set to the commit's time (or SOURCE_DATE_EPOCH) and to nobody, and the files
are sorted. Prints the archive's SHA-256. Needs the package `build`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
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
        tarfile.open(fileobj=io.BytesIO(archive)) as given,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as written,
    ):
        for member in sorted(given.getmembers(), key=lambda each: each.name):
            if not member.isfile():
                continue
            clean = tarfile.TarInfo(member.name)
            clean.size = member.size
            clean.mtime = seconds
            clean.mode = 0o755 if member.mode & 0o100 else 0o644
            written.addfile(clean, given.extractfile(member))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=seconds) as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()


def build(source: Path, outdir: Path, *options: str) -> Path:
    """Build the archive of a source folder, normalised; where it was put. options: of `build`."""
    seconds = source_time(source)
    outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="amqpcodec-sdist-") as folder:
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
        (made,) = Path(folder).glob("*.tar.gz")
        target = outdir / made.name
        target.write_bytes(normalise(made.read_bytes(), seconds))
    return target


def main() -> int:
    """Build, and print the archive's hash and name as sha256sum does."""
    parser = argparse.ArgumentParser(description="Build the source archive reproducibly.")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    parser.add_argument("--no-isolation", action="store_true", help="build with what is installed")
    parser.add_argument("source", nargs="?", type=Path, default=ROOT)
    options = parser.parse_args()
    made = build(options.source, options.outdir, *["--no-isolation"][: options.no_isolation])
    print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
