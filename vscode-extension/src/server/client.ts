/** What we are as a client of the language server: we open what it shows in our own ways, and say ourselves how it is. */
import { LanguageClient, type ClientCapabilities, type Executable, type LanguageClientOptions, type StaticFeature } from "vscode-languageclient/node";

/** We open what commands answer with, in our own ways; and our status bar item says how runs go: a second one with the same words is too much. */
const OPENS: StaticFeature = {
  fillClientCapabilities: (capabilities: ClientCapabilities) => {
    capabilities.window = { ...capabilities.window, workDoneProgress: false };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), kernelband: { opens: true } };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

export class Client extends LanguageClient {
  constructor(started: Executable, options: LanguageClientOptions) {
    super("kernelband", "KernelBand", started, options);
    this.registerFeature(OPENS);
  }

  /** For the log only: how the server is stands in the status, and what a command couldn't do is said by who asked for it. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}
