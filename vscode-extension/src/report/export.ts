/** A report as a file: a page that any browser opens, or the JSON that the server gave. */
import * as vscode from "vscode";
import { alone, fileName } from "./document.ts";
import { language } from "./language.ts";
import type { Report } from "./shape.ts";

export type Format = "html" | "json";

/**
 * Ask where to, and write it.
 *
 * @param folder of the page's script and style
 */
export async function save(report: Report, format: Format, folder: vscode.Uri): Promise<void> {
  const { kernel, id } = report.run;
  const beside = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(process.env["HOME"] ?? "/");
  const defaultUri = vscode.Uri.joinPath(beside, fileName(kernel, id, format));
  const filters = format === "html" ? { HTML: ["html"] } : { JSON: ["json"] };
  const target = await vscode.window.showSaveDialog({ defaultUri, filters, title: vscode.l10n.t("Export the report of {0}", kernel) });
  if (!target) return;
  const text = format === "json" ? `${JSON.stringify(report, null, 2)}\n` : await page(report, folder);
  await vscode.workspace.fs.writeFile(target, Buffer.from(text, "utf8"));
  void vscode.window.showInformationMessage(vscode.l10n.t("The report is in {0}.", vscode.workspace.asRelativePath(target)));
}

async function page(report: Report, folder: vscode.Uri): Promise<string> {
  const read = async (name: string): Promise<string> => Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder, name))).toString("utf8");
  const shown = { run: report.run.id, report, live: null, problem: "", exported_s: Date.now() / 1000 };
  return alone(shown, await read("report.js"), await read("report.css"), vscode.l10n.t("{0}: report of KernelBand", report.run.kernel), language());
}
