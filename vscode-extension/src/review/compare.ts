/** A variant beside the original, both as the history has them; what the buttons of such a diff do. */
import * as vscode from "vscode";
import type { Compared, Runs, WorkspaceRun } from "../protocol.ts";
import type { Server } from "../server/server.ts";
import { after, offers } from "./runs.ts";

/** A variant, and the kernel that it is of. */
export interface Meant {
  uri: string;
  kernel: string;
  run: string;
  number: number;
}

const MOST_RUNS = 500;
const compared = new Map<string, Pick<Meant, "uri" | "kernel">>(); // what the runs that were compared are about

export async function compare(server: Server, { uri, kernel, run, number }: Meant): Promise<void> {
  const { files } = await server.command<Compared>("compare", uri, kernel, run, number);
  compared.set(run, { uri, kernel });
  const title = vscode.l10n.t("Original ↔ variant {0} of {1}", number, kernel);
  const pairs = files.map(({ original, variant }) => [vscode.Uri.parse(original), vscode.Uri.parse(variant)] as const);
  const [first] = pairs;
  if (pairs.length === 1 && first) await vscode.commands.executeCommand("vscode.diff", ...first, title);
  else await vscode.commands.executeCommand("vscode.changes", title, pairs.map(([original, variant]) => [variant, original, variant]));
}

/** The variant that a document of the server's is of. */
export async function meant(server: Server, address: vscode.Uri): Promise<Meant | undefined> {
  const [, run, number] = /^\/([0-9a-z]+)\/(\d+)\//.exec(address.path) ?? [];
  if (run === undefined || number === undefined) return undefined;
  const known = compared.get(run) ?? (await server.command<{ runs: WorkspaceRun[] }>("runs", MOST_RUNS)).runs.find((other) => other.run === run);
  return known && { uri: known.uri, kernel: known.kernel, run, number: Number(number) };
}

/** The one after it in the kernel's list. */
export async function following(server: Server, { uri, kernel, run, number }: Meant): Promise<Meant | undefined> {
  const known = await server.command<Runs>("report", uri, kernel);
  const next = after(offers(known, run), number);
  return next && { uri, kernel, run, number: next.number };
}
