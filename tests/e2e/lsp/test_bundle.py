"""Copy diagnostics, from a real server that has met some trouble: enough to help, nothing that says whose it is."""

from __future__ import annotations

import getpass
import socket
from pathlib import Path

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, editor


def named(params: types.InitializeParams) -> None:
    params.client_info = types.ClientInfo("An Editor", "3.2.1")


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_diagnostics_can_be_shared(home: Home, profile: str) -> None:
    secret = "very_private_name = tl.load(x + 12345)"
    env = {"USER": "somebody-else"}
    async with editor(home, profile, adapt=named, env=env, worker="ssh jane@gpu-box", trials="many", lens=secret) as ed:
        ed.open(ed.home.file.read_text() + f"\n{secret}\n")
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": str(home.work), "trusted": secret}]})
        changed = {"kernelband": {"lens": f"{home.home} somebody-else"}}
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(changed))
        ed.client.protocol.notify(f"no/such/{secret}", {})
        answer = await ed.command("diagnostics")
        text = answer["text"]
        for wanted in (
            "KernelBand: ",
            "pygls: ",
            "name: An Editor 3.2.1",
            "workspace.apply_edit: True",
            "worker: ssh …",
            "trials: not set",
        ):
            assert wanted in text, wanted
        assert "kernelband.lens should be a bool" in text
        assert "says nothing of a folder" in text
        assert "There is no such notification" in text
        private = [str(home.work), str(home.home), str(home.db.parent), "somebody-else", "jane", "gpu-box", secret, "very_private"]
        private += [getpass.getuser(), socket.gethostname(), *(x.strip() for x in ed.text.splitlines() if len(x.strip()) > 7)]
        assert [word for word in private if word in text] == []
        assert Path(answer["path"]).read_text() == text
        assert answer["shown"]
        titles = [a.title for a in await ed.actions("tl.store")]
        assert "Copy diagnostics for a report of a problem" in titles
