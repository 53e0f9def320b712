"""Secrets stay home; what a GPU program needs goes along."""

from __future__ import annotations

from kernelband_worker.scrub import RUN_MARK, is_secret, scrubbed

SECRETS = """
OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_AUTH_TOKEN HF_TOKEN GITHUB_TOKEN GH_ENTERPRISE AWS_PROFILE AWS_SECRET_ACCESS_KEY my_secret_thing
WANDB_API_KEY PGPASSWORD DB_PASSWORD GOOGLE_APPLICATION_CREDENTIALS SENTRY_DSN DATABASE_URL PIP_INDEX_URL PIP_EXTRA_INDEX_URL
AZURE_CLIENT_ID STRIPE_KEY TOKEN
"""
HARMLESS = """
PATH HOME USER TMPDIR LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES CUDA_HOME TRITON_CACHE_DIR PYTHONPATH TOKENIZERS_PARALLELISM SLURM_JOB_ID LANG
VIRTUAL_ENV HTTPS_PROXY HF_HOME
"""


def test_secrets_stay() -> None:
    assert [name for name in SECRETS.split() if not is_secret(name)] == []


def test_the_rest_goes_along() -> None:
    assert [name for name in HARMLESS.split() if is_secret(name)] == []


def test_key_agents_only_where_ssh_needs_them() -> None:
    env = {"SSH_AUTH_SOCK": "/x", "PATH": "/bin", "HF_TOKEN": "t"}
    assert scrubbed(env, agents=True) == {"SSH_AUTH_SOCK": "/x", "PATH": "/bin"}
    assert scrubbed(env, agents=False) == {"PATH": "/bin"}


def test_the_mark_of_a_run_reaches_all_its_processes() -> None:
    assert scrubbed({RUN_MARK: "t", RUN_MARK + "_TOKEN": "t"}, agents=False) == {RUN_MARK: "t"}
