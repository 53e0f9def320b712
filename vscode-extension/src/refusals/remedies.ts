/** What helps where something can't be done: the server's words for it, and the words of the buttons. */
import * as l10n from "@vscode/l10n";

/** The server's (docs/lsp.md), then those of this editor alone. */
const SERVERS = ["trust", "save", "entry", "python", "worker", "device", "budget", "db", "search", "model", "key", "resume", "optimize", "cancel", "log"] as const;
const OWN = ["verify", "variants", "accept", "reject", "restart", "interpreter", "wheelhouse", "searchPython", "file"] as const;
const KNOWN: readonly string[] = [...SERVERS, ...OWN];
const MOST = 3; // more buttons don't stand side by side in a notification

export type Remedy = (typeof SERVERS)[number] | (typeof OWN)[number];

/** What the sentence is about: a document, a kernel and a run, "" for none. */
export interface About {
  uri: string;
  kernel: string;
  run: string;
}

/** Something that can't be done, and what helps. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly remedies: readonly Remedy[],
    readonly about: About = { uri: "", kernel: "", run: "" },
  ) {
    super(message);
  }
}

/** The buttons of a sentence, by their words, the best first. Of a newer server's remedies those that are known here. */
export function buttons(remedies: readonly string[], about: About): Map<string, Remedy> {
  const known = remedies.filter((remedy): remedy is Remedy => KNOWN.includes(remedy) && possible(remedy as Remedy, about));
  return new Map(known.slice(0, MOST).map((remedy) => [label(remedy), remedy]));
}

/** Whether enough is known to do it. */
function possible(remedy: Remedy, { uri, kernel, run }: About): boolean {
  if (remedy === "resume") return Boolean(uri && kernel && run);
  return ["entry", "budget", "optimize", "verify"].includes(remedy) ? Boolean(uri && kernel) : remedy === "device" || remedy === "trust" ? Boolean(uri) : true;
}

/** Short: a notification cuts off what is longer. */
function label(remedy: Remedy): string {
  switch (remedy) {
    case "trust":
      return l10n.t("Trust the folder");
    case "save":
      return l10n.t("Save the file");
    case "entry":
      return l10n.t("Choose what shows it");
    case "python":
      return l10n.t("Choose a Python");
    case "worker":
      return l10n.t("Change the worker");
    case "device":
      return l10n.t("Choose the device");
    case "budget":
      return l10n.t("Choose the budget");
    case "db":
      return l10n.t("Change the history's file");
    case "search":
      return l10n.t("Set up the search");
    case "model":
      return l10n.t("Change the model");
    case "key":
      return l10n.t("Set the key");
    case "resume":
      return l10n.t("Resume");
    case "optimize":
      return l10n.t("Optimize");
    case "cancel":
      return l10n.t("Stop it");
    case "verify":
      return l10n.t("Verify this version");
    case "variants":
      return l10n.t("Show variants");
    case "accept":
      return l10n.t("Accept");
    case "reject":
      return l10n.t("Reject");
    case "log":
      return l10n.t("Show the log");
    case "restart":
      return l10n.t("Restart");
    case "interpreter":
      return l10n.t("Choose the server's Python");
    case "wheelhouse":
      return l10n.t("Choose a folder of wheels");
    case "searchPython":
      return l10n.t("Use another Python");
    case "file":
      return l10n.t("Open a file");
  }
}
