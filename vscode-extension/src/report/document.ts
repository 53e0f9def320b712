/** The page's HTML: inside the editor, where a nonce lets our script in, and as a file of its own, where hashes do. Nothing else may run, and nothing is fetched. */
import { createHash } from "node:crypto";
import type { Shown } from "./messages.ts";

/** What the sentences of a page are translated to: a language's name, and them by the English ones. */
export interface Language {
  name: string;
  sentences: Record<string, string>;
}

/** In the editor. `source` is what the webview's own files come from. */
export function inEditor(at: { script: string; style: string; source: string; nonce: string; title: string; language?: Language | undefined }): string {
  const policy = `default-src 'none'; script-src 'nonce-${at.nonce}'; style-src ${at.source}`;
  return `<!DOCTYPE html>
<html lang="${escaped(at.language?.name ?? "en")}" data-host="editor">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(at.title)}</title>
<link rel="stylesheet" href="${escaped(at.style)}">
</head>
<body>
<div id="page"></div>
${embedded(at.language)}<script nonce="${escaped(at.nonce)}" src="${escaped(at.script)}"></script>
</body>
</html>
`;
}

/** One file with all in it, which any browser opens without a network. */
export function alone(shown: Shown, script: string, style: string, title: string, language?: Language): string {
  const code = inScript(script);
  const policy = `default-src 'none'; script-src '${hash(code)}'; style-src '${hash(style)}'`;
  return `<!DOCTYPE html>
<html lang="${escaped(language?.name ?? "en")}" data-host="file">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<script type="application/json" id="shown">${jsonInHtml(shown)}</script>
${embedded(language)}<script>${code}</script>
</body>
</html>
`;
}

/** Data and no code, so no policy forbids it; nothing where the page stays as it is. */
function embedded(language: Language | undefined): string {
  return language ? `<script type="application/json" id="sentences">${jsonInHtml(language.sentences)}</script>\n` : "";
}

/** Between tags and in quoted attributes. */
export function escaped(text: string): string {
  const signs: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (sign) => signs[sign] ?? "");
}

/** JSON that ends no element and begins no comment; what it means is the same. */
export function jsonInHtml(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A script's text where `</script` and `<!--` would end it: they only stand in its strings. */
function inScript(script: string): string {
  return script.replace(/<(?=\/script|!--)/gi, "\\x3c");
}

function hash(text: string): string {
  return `sha256-${createHash("sha256").update(text, "utf8").digest("base64")}`;
}

/** What a report is called as a file: `KERNEL-RUN`, with nothing that a file system minds. */
export function fileName(kernel: string, run: string, ending: string): string {
  const safe = (text: string): string => text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "").slice(0, 80);
  return `${safe(kernel) || "kernel"}-${safe(run)}.${ending}`;
}
