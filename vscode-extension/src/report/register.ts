/** The commands of reports, and which run they mean. */
import * as vscode from "vscode";
import { pickKernel } from "../optimize/optimize.ts";
import type { Runs, WorkspaceRun } from "../protocol.ts";
import { Refusal } from "../refusals/remedies.ts";
import { registering } from "../registering.ts";
import type { Server } from "../server/server.ts";
import { date } from "./format.ts";
import { Reports } from "./reports.ts";

const MOST = 100; // runs to choose from

/** A kernel's row, a run's row, a run by its id, or nothing: the one that is asked for. */
interface Meant {
  uri?: string;
  kernel?: string;
  run?: string | null;
}

export function registerReports(context: vscode.ExtensionContext, server: Server): Reports {
  const reports = new Reports(context, server);
  context.subscriptions.push(reports);
  const on = registering(context);
  on("report", async (meant?: Meant) => {
    const run = await which(server, meant);
    if (run) reports.show(run);
  });
  for (const format of ["html", "json"] as const) {
    on(format === "html" ? "exportReportHtml" : "exportReportJson", async (meant?: Meant) => {
      const run = meant?.run ?? reports.active ?? (await which(server));
      if (run) await reports.export(run, format);
    });
  }
  // The lens of a run that goes on.
  server.intercept("report", async ([uri, kernel]) => {
    const run = await latest(server, uri as string, kernel as string);
    if (run) reports.show(run);
  });
  return reports;
}

async function which(server: Server, meant?: Meant): Promise<string | undefined> {
  if (meant?.run) return meant.run;
  if (meant?.uri && meant.kernel) return latest(server, meant.uri, meant.kernel);
  if (vscode.window.activeTextEditor?.document.languageId === "python") {
    const target = await pickKernel(server);
    return target && latest(server, target.uri, target.kernel);
  }
  return pickRun(server);
}

/** The kernel's run that goes on, or its latest. */
async function latest(server: Server, uri: string, kernel: string): Promise<string> {
  const { live, runs } = await server.command<Runs>("report", uri, kernel);
  const run = live?.run ?? runs[0]?.id;
  if (run) return run;
  throw new Refusal(vscode.l10n.t("There is no run of {0} yet: optimize it, then its report can be shown.", kernel), ["optimize"], { uri, kernel, run: "" });
}

async function pickRun(server: Server): Promise<string | undefined> {
  const { runs } = await server.command<{ runs: WorkspaceRun[] }>("runs", MOST);
  if (!runs.length) throw new Refusal(vscode.l10n.t("There is no run yet: open a file with a Triton kernel and optimize it."), ["file"]);
  const items = runs.map(({ run, kernel, headline, created, device }) => ({ label: kernel, description: headline, detail: [date(created), device ?? ""].filter(Boolean).join(" · "), run }));
  return (await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t("Which run?"), matchOnDescription: true }))?.run;
}
