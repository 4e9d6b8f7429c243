"""A server of S3's protocol for reading the files of a folder, as fast as this machine can send.

The tests' server, moto's, slices the whole object anew for each range: its time, not the reader's,
would be measured. Signatures are not checked, and objects can be read only.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Files(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers in one packet
    folder = Path()

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = self.folder / self.path.partition("?")[0].lstrip("/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with path.open("rb") as file:
            start, end = 0, os.fstat(file.fileno()).st_size
            range_header = self.headers.get("Range")
            self.send_response(206 if range_header else 200)
            if range_header:
                first, _, last = range_header.removeprefix("bytes=").partition("-")
                self.send_header("Content-Range", f"bytes {first}-{last}/{end}")
                start, end = int(first), min(int(last) + 1, end)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Last-Modified", formatdate(path.stat().st_mtime, usegmt=True))
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.flush()
            while self.command == "GET" and start < end:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, end - start)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """Its address: ``s3://BUCKET/KEY`` is the file KEY in the folder's folder BUCKET."""
    command = [sys.executable, "-m", "bench.s3_files", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Print the port, and serve."""
    _Files.folder = Path(sys.argv[1])
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    print(serving.server_address[1], flush=True)
    serving.serve_forever()


if __name__ == "__main__":
    main()
