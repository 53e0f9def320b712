/** What rows of the side bar can do. */
import * as vscode from "vscode";
import { Refusal } from "../refusals/remedies.ts";
import { registering } from "../registering.ts";
import type { Reviews } from "../review/reviews.ts";
import type { Server } from "../server/server.ts";
import type { KernelRow, RunRow, VariantRow } from "./rows.ts";
import type { SideBar } from "./sideBar.ts";

export function registerActions(context: vscode.ExtensionContext, server: Server, sideBar: SideBar, reviews: Reviews): void {
  const register = registering(context);
  /** The editor passes nothing where it was reading the tree anew when somebody chose from a row's menu. */
  const on = (name: string, work: (row: never) => unknown): void =>
    register(name, (row: KernelRow | RunRow | VariantRow | undefined) => {
      if (row === undefined) throw new Refusal(vscode.l10n.t("The list was being reloaded, so the editor didn't say which row you chose: choose it again."), []);
      return work(row as never);
    });
  register("view.refresh", () => sideBar.refresh());
  on("view.stop", ({ run }: KernelRow | RunRow) => server.command("cancel", run));
  on("view.resume", ({ uri, kernel, run }: RunRow) => server.execute("resume", uri, kernel, run));
  // The server's commands as a lightbulb calls them, so what takes their place in this editor does here, too.
  const ofAVariant = { review: "apply", compare: "compare", explain: "explain", patch: "patch" };
  for (const [name, command] of Object.entries(ofAVariant)) {
    on(`view.${name}`, async ({ uri, kernel, run, number }: VariantRow) => {
      await open(uri);
      await server.execute(command, uri, kernel, run, number);
    });
  }
  on("view.verify", (row: VariantRow) => verifyAgain(server, reviews, row));
  on("view.delete", async (row: RunRow) => {
    const variants = row.children.length ? vscode.l10n.t("Its variants, their figures and reasons go with it. This can't be undone.") : vscode.l10n.t("This can't be undone.");
    const yes = vscode.l10n.t("Delete");
    const asked = vscode.l10n.t("Delete this run of {0}?", row.kernel);
    const answer = await vscode.window.showWarningMessage(asked, { modal: true, detail: [row.description, variants].join("\n\n") }, yes);
    if (answer !== yes) return;
    await server.command("forget", row.run);
    sideBar.refresh();
  });
}

/** A variant whose file is open in no editor can't be put in. */
async function open(uri: string): Promise<void> {
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(uri), { preview: false });
}

/** Put it in, for review, and judge it anew against the text that was there before. */
async function verifyAgain(server: Server, reviews: Reviews, { uri, kernel, run, number }: VariantRow): Promise<void> {
  await open(uri);
  if (await reviews.start(uri, kernel, run, number)) await server.execute("verify", uri, kernel);
}
