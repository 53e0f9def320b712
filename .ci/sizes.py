"""Add up the sizes of what pip would install for `make demo`: `pip install --dry-run --report`, then one HEAD request a file."""

import json
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

PARTS = {
    "engine": ["--require-hashes", "-r", "requirements/engine.txt"],
    "worker": ["--require-hashes", "-r", "requirements/worker.txt"],
    "torch and triton": ["--no-deps", "-c", "requirements/constraints.txt", "torch", "triton"],
}


def size(url: str) -> int:
    """Bytes of the file behind ``url``."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return Path(urllib.request.url2pathname(parts.path)).stat().st_size
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - what pip itself would download
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        return int(answer.headers["Content-Length"])


def urls(python: str, arguments: list[str]) -> list[str]:
    """What ``python -m pip install ARGUMENTS`` would download."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--ignore-installed"]
    report = subprocess.run([*command, "--report", "-", *arguments], capture_output=True, text=True, timeout=300, check=False)
    if report.returncode:
        sys.exit(f"pip can't tell what it would install for {' '.join(arguments)}:\n{report.stderr[-2000:]}")
    return [item["download_info"]["url"] for item in json.loads(report.stdout)["install"]]


def download_bytes(python: str, arguments: list[str]) -> int:
    """How much that is, in bytes."""
    return sum(map(size, urls(python, arguments)))


def main(python: str) -> None:
    """Print a line a part, and the sum."""
    total = 0
    for name, arguments in PARTS.items():
        found = urls(python, arguments)
        try:
            bytes_ = sum(map(size, found))
        except (OSError, TypeError) as error:
            print(f"  {name}: {len(found)} packages, size unknown ({error})")
            continue
        total += bytes_
        print(f"  {name}: {len(found)} packages, {bytes_ / 1e6:.0f} MB")
    print(f"Download: about {total / 1e6:.0f} MB, into this checkout.")


if __name__ == "__main__":
    main(sys.argv[1])
