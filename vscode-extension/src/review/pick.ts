/** The list of a kernel's variants: the best first, each with what it changes and what that is worth. */
import * as vscode from "vscode";
import type { Runs } from "../protocol.ts";
import { Refusal } from "../refusals/remedies.ts";
import { showError } from "../refusals/show.ts";
import type { Server } from "../server/server.ts";
import { offers, type Offer } from "./runs.ts";

type Item = vscode.QuickPickItem & { offer?: Offer };

/** The one that a person picks; "revert" for the original; undefined for none. `isInFile`: a variant is there, of whichever run, or under review. */
export async function pickVariant(server: Server, uri: string, kernel: string, isInFile: boolean): Promise<Offer | "revert" | undefined> {
  const known = await server.command<Runs>("report", uri, kernel);
  const about = { uri, kernel, run: "" };
  if (known.stale && !isInFile) throw new Refusal(known.stale, ["verify", "optimize"], about);
  const list = offers(known);
  if (!list.length && !isInFile) throw new Refusal(vscode.l10n.t("There is no variant of {0} to apply: optimize it first.", kernel), ["optimize"], about);
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = vscode.l10n.t("Variants of {0}", kernel);
  pick.placeholder = vscode.l10n.t("Choose the variant to review in the file");
  pick.matchOnDescription = pick.matchOnDetail = true;
  const buttons = [
    { iconPath: new vscode.ThemeIcon("diff"), tooltip: vscode.l10n.t("Compare side by side") },
    { iconPath: new vscode.ThemeIcon("book"), tooltip: vscode.l10n.t("Explain") },
  ];
  const items: Item[] = list.map((offer) => ({
    label: `${offer.verified ? "$(check) " : ""}${offer.title}`,
    description: offer.present ? `${offer.worth} · ${vscode.l10n.t("in the file")}` : offer.worth,
    detail: [offer.what, offer.why].filter(Boolean).map((said) => (/[.!?]$/.test(said) ? said : `${said}.`)).join(" "),
    buttons,
    offer,
  }));
  if (isInFile) items.push({ label: vscode.l10n.t("$(discard) The original"), detail: vscode.l10n.t("Restore the text from before") });
  pick.items = items;
  try {
    return await new Promise((resolve) => {
      pick.onDidTriggerItemButton(({ item: { offer }, button }) => {
        if (!offer) return;
        const command = button === buttons[0] ? "compare" : "explain";
        server.execute(command, uri, kernel, offer.run, offer.number).catch(showError);
      });
      pick.onDidAccept(() => {
        const [item] = pick.selectedItems;
        resolve(item ? (item.offer ?? "revert") : undefined);
      });
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
  } finally {
    pick.dispose();
  }
}
