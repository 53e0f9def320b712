"""A real sshd on loopback for one test session: own keys, own port, another user who can't read the workspace."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def why_not() -> str | None:
    """The reason why these tests can't run here, or None."""
    if os.getuid() != 0:
        return "needs root: to add a user and to run sshd for it"
    if not Path(SSHD).exists() or shutil.which("ssh") is None:
        return "sshd or ssh isn't installed: run `make system`"
    return None


def run(*words: str) -> None:
    """A command that must work; another test process may have the files of users locked just now."""
    end = time.monotonic() + 90
    while (done := subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)).returncode != 0:
        if "try again later" not in done.stderr or time.monotonic() > end:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        time.sleep(0.1)


class Sshd:
    """``config`` is the ssh configuration for clients: Host box, and hosts with one thing wrong each.

    Args:
        visible: a folder that the user must be able to read although a parent of it is closed to others (a Python in root's home).
    """

    def __init__(self, visible: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kb-sshd-"))
        self.folder.chmod(0o755)
        self.user = f"kb-test-{os.getpid()}-{secrets.token_hex(3)}"
        self.home = self.folder / "home"
        self.config = self.folder / "config"
        self._process: subprocess.Popen[bytes] | None = None
        self._refusing = socket.socket()  # has a port that nobody listens on, and nobody else gets
        try:
            self._set_up(visible)
        except BaseException:
            self.close()
            raise

    def _set_up(self, visible: Path | None) -> None:
        self._refusing.bind(("127.0.0.1", 0))
        run("useradd", "--create-home", "--home-dir", str(self.home), "--shell", "/bin/bash", "--password", "*", self.user)
        self.home.chmod(0o700)
        for name in ("host_key", "other_host_key", "key", "unknown_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        shutil.copy(self.folder / "key.pub", self.folder / "authorized_keys")
        (self.folder / "authorized_keys").chmod(0o644)
        self._start(self._command(visible))
        self._configure_client()

    @classmethod
    def seeing(cls, python: str) -> Sshd:
        """A server whose user can run that Python, wherever the Python behind it is installed."""
        command = [python, "-c", "import sys; print(sys.base_prefix)"]
        base = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        return cls(visible=Path(base))

    def _configure_server(self) -> None:
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host_key",
            f"PidFile {self.folder}/pid",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            f"AllowUsers {self.user}",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication yes",
            "PrintMotd no",
        ]
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")

    def _configure_client(self) -> None:
        def known(name: str, key: str) -> None:
            public = (self.folder / f"{key}.pub").read_text().split()
            (self.folder / name).write_text(f"[127.0.0.1]:{self.port} {public[0]} {public[1]}\n")

        known("known", "host_key")
        known("changed", "other_host_key")
        (self.folder / "empty").touch()
        hosts = {
            "box": {},
            "stranger": {"UserKnownHostsFile": "empty"},
            "changed": {"UserKnownHostsFile": "changed"},
            "password": {"IdentityFile": "unknown_key", "PreferredAuthentications": "publickey,password,keyboard-interactive"},
            "refused": {"Port": str(self._refusing.getsockname()[1])},
        }
        files = {"IdentityFile": "key", "UserKnownHostsFile": "known"}
        text = ""
        for host, options in hosts.items():
            every = {"HostName": "127.0.0.1", "Port": str(self.port), "User": self.user, **files, **options}
            text += f"Host {host}\n"
            text += "".join(f"  {k} {self.folder / v if k in files else v}\n" for k, v in every.items())
        text += "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  GlobalKnownHostsFile /dev/null\n"
        self.config.write_text(text)

    def _command(self, visible: Path | None) -> list[str]:
        command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        closed = next((p for p in reversed(visible.parents) if not p.stat().st_mode & 0o001), None) if visible else None
        if closed is None:
            return command
        # In a mount namespace of its own, that parent is an empty folder with only the wanted one in it.
        aside = self.folder / "visible"
        aside.mkdir()
        q = {name: shlex.quote(str(path)) for name, path in {"visible": visible, "closed": closed, "aside": aside}.items()}
        mounts = (
            f"mount --bind {q['visible']} {q['aside']} && mount -t tmpfs -o mode=755 none {q['closed']} && "
            f"mkdir -p {q['visible']} && mount --bind {q['aside']} {q['visible']} && exec " + shlex.join(command)
        )
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts]

    def _start(self, command: list[str]) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        for _ in range(5):
            self.port = _free_port()  # which somebody else may take first
            self._configure_server()
            with (self.folder / "log").open("wb") as log:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            end = time.monotonic() + 60
            while self._process.poll() is None and time.monotonic() < end:
                if "Server listening on" in self.log():
                    return
                time.sleep(0.05)
            self._process.kill()
            self._process.wait(60)
        raise RuntimeError(f"sshd doesn't answer: {self.log()}")

    def log(self) -> str:
        """What sshd says."""
        return (self.folder / "log").read_text(errors="replace")

    def prefix(self, host: str = "box") -> tuple[str, ...]:
        """A worker command's prefix."""
        return ("ssh", "-F", str(self.config), host)

    def shell(self, path: str) -> None:
        """Give the user another login shell."""
        run("usermod", "--shell", path, self.user)

    def write(self, name: str, text: str) -> None:
        """A file in the user's home."""
        (self.home / name).write_text(text)
        shutil.chown(self.home / name, self.user)

    def reset(self) -> None:
        """Bash again, and no start-up files."""
        self.shell("/bin/bash")
        for path in (*self.home.glob(".bash*"), *self.home.glob(".*shrc"), self.home / ".login", self.home / ".profile"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop the server, remove the user and every file."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
        self._refusing.close()
        subprocess.run(["userdel", "--force", "--remove", self.user], capture_output=True, timeout=60, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
