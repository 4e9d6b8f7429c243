"""Write a bill of materials (SBOM, CycloneDX JSON) for the package and for each extra.

    python scripts/sbom.py [--outdir DIR] [EXTRA...]        by default all extras that users install

The package alone depends on nothing. For an extra the file lists what pip installs for it today,
with versions and licences. Needs the package `cyclonedx-bom`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from setup_requirements import PROJECT, extras, requirements


def write(target: Path, requirements: list[str]) -> None:
    """One file: the package, and what an environment with these requirements holds."""
    with tempfile.TemporaryDirectory(prefix="amqpcodec-sbom-") as name:
        environment = Path(name) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        if requirements:
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
            subprocess.run([*pip, *requirements], check=True)
        command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(PROJECT)]
        command += ["--mc-type", "library", "--output-reproducible", "-o", str(target), str(python)]
        subprocess.run(command, check=True)


def main() -> int:
    """Write the files and name them."""
    parser = argparse.ArgumentParser(description="Write bills of materials (CycloneDX).")
    parser.add_argument("--outdir", type=Path, default=Path("sbom"))
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    options = parser.parse_args()
    options.outdir.mkdir(parents=True, exist_ok=True)
    write(options.outdir / "amqpcodec.cdx.json", [])
    for name in options.extras or extras():
        write(options.outdir / f"amqpcodec-{name}.cdx.json", requirements([name]))
    for path in sorted(options.outdir.glob("*.cdx.json")):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
