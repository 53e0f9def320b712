"""Which environment variables never reach a worker or the user's program in it: keys, tokens, passwords.

The engine scrubs what it gives to the worker command, the supervisor scrubs again what it gives to executors: over ssh the
first hop's environment is not the second's. What a program needs all the same is named in ``StartParams.environment``.
"""

from __future__ import annotations

import fnmatch
from typing import Dict, Mapping

SECRET_NAMES = (
    "*API_KEY*",
    "*APIKEY*",
    "*_KEY",
    "*_KEY_ID",
    "*_TOKEN",
    "TOKEN",
    "*_TOKENS",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*_PAT",
    "*_DSN",
    "*DATABASE_URL",
    "PIP_*INDEX_URL",
    "UV_*INDEX*",
    "AWS_*",
    "AZURE_*",
    "OPENAI_*",
    "ANTHROPIC_*",
    "GH_*",
    "GITHUB_*",
    "GITLAB_*",
    "NETRC",
)

#: Marks every process of an editor's run, so that none outlives it: named like a secret, but none, and it must reach them all.
RUN_MARK = "KERNELBAND_RUN_TOKEN"

#: The way to the user's keys. The worker command may need it (ssh); a program under test never does.
AGENTS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO")


def is_secret(name: str) -> bool:
    """Whether a variable of that name may hold a secret. Letter case doesn't matter."""
    upper = name.upper()
    return upper != RUN_MARK and any(fnmatch.fnmatchcase(upper, pattern) for pattern in SECRET_NAMES)


def scrubbed(environment: Mapping[str, str], *, agents: bool) -> Dict[str, str]:
    """``environment`` without secrets; ``agents`` keeps the sockets of key agents."""
    return {k: v for k, v in environment.items() if not is_secret(k) and (agents or k.upper() not in AGENTS)}
