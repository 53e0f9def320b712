/** Begins the page, and shows what the editor tells it: only what differs is drawn anew, so scroll, focus and what is open stay. */
import * as l10n from "@vscode/l10n";
import { render } from "preact";
import type { Shown, ToPage } from "../../src/report/messages.ts";
import { Host } from "./host.ts";
import { Page } from "./page.tsx";

const host = new Host();
const place = document.getElementById("page");
let scrolled = false;

function show(shown: Shown): void {
  if (!place) return;
  render(<Page host={host} shown={shown} />, place);
  host.keep({ run: shown.run });
  if (!scrolled && shown.report) {
    scrolled = true;
    window.scrollTo(0, host.scroll);
  }
}

if (host.sentences) l10n.config({ contents: host.sentences });
if (host.told) show(host.told);
window.addEventListener("message", (event: MessageEvent<ToPage>) => show(event.data));
window.addEventListener("scrollend", () => host.keep({ scroll: window.scrollY }));
host.tell({ type: "ready" });
