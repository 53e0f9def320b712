/** The packages of the search: there, or installed after a question, or taken from where the user says. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { probe, serves, type Python } from "../python/probe.ts";
import { Refusal } from "../refusals/remedies.ts";
import { showError } from "../refusals/show.ts";
import { openSetting } from "../settingsPage.ts";
import { install } from "./install.ts";
import { command, folder } from "./plan.ts";

export type Ready = "interpreter" | "installed" | "missing";

export class SearchEnvironment {
  #installing: Promise<boolean> | undefined;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;

  /**
   * @param python of the server
   * @param root the extension's folder
   * @param storage the extension's own folder for this machine
   */
  constructor(
    private readonly python: () => Python | undefined,
    private readonly root: string,
    private readonly storage: string,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** What starts a search; also where packages are missing, since then it says which. Empty without a Python. */
  get command(): string[] {
    const own = this.#setting("interpreter");
    if (own) return command(own, this.root);
    const python = this.python();
    const target = this.#target(python);
    return python ? command(python.path, this.root, target && existsSync(target) ? target : undefined) : [];
  }

  get ready(): Ready {
    if (this.#setting("interpreter")) return "interpreter";
    const target = this.#target(this.python());
    return target && existsSync(target) ? "installed" : "missing";
  }

  /** Before something is searched. Whether it can begin; where it can't, the user has been told why, or has said no. */
  async ensure(): Promise<boolean> {
    if (this.ready !== "missing") return true;
    this.#installing ??= this.#offer().finally(() => (this.#installing = undefined));
    return this.#installing;
  }

  async #offer(): Promise<boolean> {
    const python = this.python();
    const target = this.#target(python);
    if (!python || !target) return true; // the server says what is missing
    const wheelhouse = this.#setting("wheelhouse");
    const { megabytes } = JSON.parse(readFileSync(path.join(this.root, "bundled", "search.json"), "utf8")) as { megabytes: number };
    const from = wheelhouse ? vscode.l10n.t("once, from {0}", wheelhouse) : vscode.l10n.t("once, about {0} MB, from the package index of your pip", megabytes);
    const items = [
      { label: vscode.l10n.t("Install"), description: from, detail: vscode.l10n.t("Into the extension's own folder; nothing else is changed"), setting: "" },
      { label: vscode.l10n.t("Use another Python…"), detail: vscode.l10n.t("One that has numpy, scikit-learn and openai"), setting: "kernelband.search.interpreter" },
      { label: vscode.l10n.t("Install from a folder of wheels…"), detail: vscode.l10n.t("For a machine without internet"), setting: "kernelband.search.wheelhouse" },
    ];
    const title = vscode.l10n.t("The search needs numpy, scikit-learn and openai");
    const answer = await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true });
    if (answer?.setting) await openSetting(answer.setting);
    if (!answer || answer.setting) return false;
    const able = await probe(python.path);
    if (!able || !serves(able) || able.pip === "none") {
      const why = vscode.l10n.t("{0} has no pip, so nothing can be installed with it: install its pip (python3-pip on Debian), or set kernelband.search.interpreter to a Python that has numpy, scikit-learn and openai.", python.path);
      showError(new Refusal(why, ["searchPython"]));
      return false;
    }
    return this.#install(able, target, wheelhouse);
  }

  async #install(python: Python, target: string, wheelhouse?: string): Promise<boolean> {
    const title = vscode.l10n.t("Installing the packages of the search");
    const location = vscode.ProgressLocation.Notification;
    try {
      await vscode.window.withProgress({ location, title, cancellable: true }, async (progress, token) => {
        const cancelled = new AbortController();
        token.onCancellationRequested(() => cancelled.abort());
        const lockFile = path.join(this.root, "bundled", "search.txt");
        await install({ python, lockFile, target, wheelhouse }, (message) => progress.report({ message }), (line) => this.log.debug(line), cancelled.signal);
      });
    } catch (error) {
      showError(new Refusal(error instanceof Error ? error.message : String(error), ["wheelhouse", "searchPython", "log"]));
      return false;
    }
    this.#changed.fire();
    return true;
  }

  #target(python: Python | undefined): string | undefined {
    if (!python) return undefined;
    return folder(this.storage, python, readFileSync(path.join(this.root, "bundled", "search.txt"), "utf8"));
  }

  #setting(name: string): string | undefined {
    return vscode.workspace.getConfiguration("kernelband.search").get<string>(name) || undefined;
  }
}
