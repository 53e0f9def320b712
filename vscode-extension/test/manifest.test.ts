/** package.json against the sources: strings, settings and commands that it names are used, and those that are used are named. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "./folders.ts";

interface Setting {
  scope: string;
  order?: number;
  default?: unknown;
  description?: string;
  markdownDescription?: string;
}

interface Manifest {
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string; title: string; category?: string; icon?: string }[];
    configuration: { properties: Record<string, Setting> };
    menus: Record<string, { command: string; when?: string }[]>;
    views: Record<string, { id: string }[]>;
    viewsWelcome: { view: string }[];
    walkthroughs: { steps: { completionEvents?: string[] }[] }[];
  };
}

const text = readFileSync("package.json", "utf8");
const manifest = JSON.parse(text) as Manifest;
const strings = JSON.parse(readFileSync("package.nls.json", "utf8")) as Record<string, string>;
const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
const sources = new Map(files.map((name) => [name, readFileSync(path.join("src", name), "utf8")]));
const source = [...sources.values()].join("\n");
const settings = manifest.contributes.configuration.properties;

test("every %key% of package.json is in package.nls.json, and none there is unused", () => {
  const used = new Set([...text.matchAll(/"%([\w.]+)%"/g)].map(([, key]) => key!));
  assert.deepEqual([...used].filter((key) => !strings[key]), []);
  assert.deepEqual(Object.keys(strings).filter((key) => !used.has(key)), []);
});

test("the bundle of strings is current: `npm run l10n` makes it", () => {
  const out = temporaryFolder();
  execFileSync(path.resolve("../node_modules/.bin/vscode-l10n-dev"), ["export", "--outDir", out, "src", "webview"], { stdio: "ignore" });
  const name = "bundle.l10n.json";
  const [there, now] = ["l10n", out].map((folder) => Object.keys(JSON.parse(readFileSync(path.join(folder, name), "utf8")) as object));
  assert.deepEqual(now!.filter((words) => !there!.includes(words)), [], "new in the sources: run `npm run l10n`");
  assert.deepEqual(there!.filter((words) => !now!.includes(words)), [], "no longer in the sources: run `npm run l10n`");
});

test("every setting that is read is contributed, and the other way round", () => {
  const read = new Set<string>();
  for (const content of sources.values()) {
    // getConfiguration("kernelband.search").get("x"), in one go or by a name
    for (const [, section, key] of content.matchAll(/getConfiguration\("(kernelband[\w.]*)"\)\s*\.get(?:<[^>]*>)?\((?:"([\w.]+)"|name)\)/g)) {
      if (key) read.add(`${section!}.${key}`);
    }
    for (const [, name, section] of content.matchAll(/const (\w+) = vscode\.workspace\.getConfiguration\("(kernelband[\w.]*)"\)/g)) {
      for (const [, key] of content.matchAll(new RegExp(`\\b${name!}\\.get(?:<[^>]*>)?\\("([\\w.]+)"\\)`, "g"))) read.add(`${section!}.${key!}`);
    }
    for (const [, key] of content.matchAll(/this\.#setting\("(\w+)"\)/g)) read.add(`kernelband.search.${key!}`);
  }
  // Those that are handed on to the server.
  const handed = sources.get("server/settings.ts") ?? "";
  for (const [, key] of handed.matchAll(/\bours\.get\("([\w.]+)"\)/g)) read.add(`kernelband.${key!}`);
  const same = /const SAME = \[([^\]]*)\]/.exec(handed)?.[1] ?? "";
  for (const [, key] of same.matchAll(/"(\w+)"/g)) read.add(`kernelband.${key!}`);
  assert.ok(read.size > 10, "the patterns above fit the sources");
  assert.deepEqual([...read].sort(), Object.keys(settings).sort());
});

test("every setting has a description, an order of its own, and the scope that what it reaches asks for", () => {
  const orders = Object.values(settings).map(({ order }) => order);
  assert.equal(new Set(orders).size, orders.length);
  for (const [name, { description, markdownDescription, default: value }] of Object.entries(settings)) {
    assert.ok(description ?? markdownDescription, name);
    assert.notEqual(value, undefined, name);
  }
  // What runs and what is reached is the user's own for the machine, never a repository's; a budget and what is shown may be a folder's or a window's.
  const open = { "kernelband.trials": "resource", "kernelband.seconds": "resource", "kernelband.entry": "resource", "kernelband.lens": "window", "kernelband.diagnostics": "window", "kernelband.lineCosts": "window", "kernelband.problems": "window" };
  assert.deepEqual(
    Object.fromEntries(Object.entries(settings).map(([name, { scope }]) => [name, scope])),
    Object.fromEntries(Object.keys(settings).map((name) => [name, (open as Record<string, string>)[name] ?? "machine"])),
  );
  const restricted = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;
  const wanted = Object.keys(settings).filter((name) => settings[name]!.scope === "machine" || name === "kernelband.entry");
  assert.deepEqual([...restricted].sort(), wanted.sort());
});

test("every command is contributed and registered, and menus name no other", () => {
  const contributed = manifest.contributes.commands.map(({ command }) => command);
  assert.equal(new Set(contributed).size, contributed.length);
  // A name that is put together at run time stands for those that its pattern fits.
  const registered = [...source.matchAll(/\bon\((?:"([\w.]+)"|`([^`]+)`|name\b|format\b[^,]*"(\w+)" : "(\w+)")/g)].flatMap(([, plain, made, one, other]) =>
    plain ? [plain] : made ? [made] : one && other ? [one, other] : [],
  );
  const patterns = registered.map((name) => new RegExp(`^kernelband\\.${name.replaceAll(".", "\\.").replace(/\$\{[^}]*\}/g, "\\w+")}$`));
  const fromTables = [...source.matchAll(/^const OF_A_KERNEL = \{([^}]*)\}/gm)].flatMap(([, body]) => [...body!.matchAll(/(\w+):/g)].map(([, name]) => `kernelband.${name!}`));
  const missing = contributed.filter((command) => !fromTables.includes(command) && !patterns.some((pattern) => pattern.test(command)));
  assert.deepEqual(missing, []);
  const named = Object.values(manifest.contributes.menus).flat().map(({ command }) => command);
  assert.deepEqual(named.filter((command) => !contributed.includes(command)), []);
  const links = [...JSON.stringify(strings).matchAll(/\(command:(kernelband\.[\w.]+)/g)].map(([, command]) => command!);
  const events = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.flatMap(({ completionEvents }) => completionEvents ?? []));
  const completed = events.filter((event) => event.startsWith("onCommand:")).map((event) => event.slice("onCommand:".length));
  assert.deepEqual([...links, ...completed].filter((command) => !contributed.includes(command)), []);
  assert.ok(links.length > 5);
  assert.deepEqual(events.filter((event) => event.startsWith("onSettingChanged:") && !(event.slice("onSettingChanged:".length) in settings)), []);
});

test("what belongs to rows of the side bar isn't in the palette", () => {
  const hidden = manifest.contributes.menus["commandPalette"]!.filter(({ when }) => when === "false").map(({ command }) => command);
  const ofRows = manifest.contributes.commands.map(({ command }) => command).filter((command) => command.startsWith("kernelband.view."));
  assert.deepEqual(ofRows.filter((command) => !hidden.includes(command)), []);
  const views = Object.values(manifest.contributes.views).flat().map(({ id }) => id);
  assert.deepEqual(manifest.contributes.viewsWelcome.filter(({ view }) => !views.includes(view)), []);
});
