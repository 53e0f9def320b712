/** What the buttons of a sentence do. */
import * as vscode from "vscode";
import type { Optimizer } from "../optimize/optimize.ts";
import { registering } from "../registering.ts";
import type { SearchEnvironment } from "../search/environment.ts";
import type { Server } from "../server/server.ts";
import { openSetting } from "../settingsPage.ts";
import type { About, Remedy } from "./remedies.ts";
import { showRefusal } from "./show.ts";

export function registerRefusals(context: vscode.ExtensionContext, server: Server, search: SearchEnvironment, optimizer: Optimizer): void {
  const on = registering(context);
  context.subscriptions.push(server.onRefused(showRefusal));
  on("openSetting", (name: string) => openSetting(name));
  on("remedy", async (remedy: Remedy, about: About) => {
    const { uri, kernel, run } = about;
    switch (remedy) {
      case "trust":
        return trust(server, uri);
      case "save":
        return vscode.commands.executeCommand("workbench.action.files.save");
      case "entry":
        return optimizer.chooseEntry({ uri, kernel });
      case "python":
        return optimizer.choosePython(uri);
      case "device":
        return server.command("chooseDevice", uri);
      case "budget":
      case "optimize":
        return optimizer.optimize({ uri, kernel });
      case "verify":
        return server.execute("verify", uri, kernel);
      case "resume":
        return server.execute("resume", uri, kernel, run);
      case "search":
        return search.ready === "missing" ? vscode.commands.executeCommand("kernelband.installSearch") : openSetting("kernelband.search.interpreter");
      case "key":
      case "log":
      case "cancel":
      case "variants":
      case "accept":
      case "reject":
        return vscode.commands.executeCommand(`kernelband.${COMMANDS[remedy]}`);
      case "restart":
        return server.restart();
      case "file":
        return vscode.commands.executeCommand("workbench.action.quickOpen", "");
      default:
        return openSetting(SETTINGS[remedy]);
    }
  });
}

const COMMANDS = { key: "setModelKey", log: "showLog", cancel: "cancel", variants: "variants", accept: "review.accept", reject: "review.reject" } as const;

const SETTINGS = {
  worker: "kernelband.worker",
  db: "kernelband.db",
  model: "kernelband.model.name",
  interpreter: "kernelband.server.interpreter",
  wheelhouse: "kernelband.search.wheelhouse",
  searchPython: "kernelband.search.interpreter",
} as const;

/** By a question about a folder that isn't open; of an open one the editor itself asks. */
async function trust(server: Server, uri: string): Promise<void> {
  if (!vscode.workspace.isTrusted) await vscode.commands.executeCommand("workbench.trust.manage");
  else await server.mayRun(uri);
}
