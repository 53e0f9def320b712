"""Secrets stay home; what a GPU program needs goes along."""

from __future__ import annotations

import pytest

from kernelband_worker.scrub import is_secret, scrubbed


@pytest.mark.parametrize(
    "name",
    "OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_AUTH_TOKEN HF_TOKEN GITHUB_TOKEN GH_ENTERPRISE AWS_PROFILE AWS_SECRET_ACCESS_KEY my_secret_thing "
    "WANDB_API_KEY PGPASSWORD DB_PASSWORD GOOGLE_APPLICATION_CREDENTIALS SENTRY_DSN DATABASE_URL PIP_INDEX_URL PIP_EXTRA_INDEX_URL "
    "AZURE_CLIENT_ID STRIPE_KEY TOKEN".split(),
)
def test_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    "PATH HOME USER TMPDIR LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES CUDA_HOME TRITON_CACHE_DIR PYTHONPATH TOKENIZERS_PARALLELISM SLURM_JOB_ID LANG "
    "VIRTUAL_ENV HTTPS_PROXY HF_HOME".split(),
)
def test_the_rest_goes_along(name: str) -> None:
    assert not is_secret(name)


def test_key_agents_only_where_ssh_needs_them() -> None:
    env = {"SSH_AUTH_SOCK": "/x", "PATH": "/bin", "HF_TOKEN": "t"}
    assert scrubbed(env, agents=True) == {"SSH_AUTH_SOCK": "/x", "PATH": "/bin"}
    assert scrubbed(env, agents=False) == {"PATH": "/bin"}
