import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { alone, escaped, fileName, inEditor, jsonInHtml } from "../../src/report/document.ts";
import { report } from "./facts.ts";

const HOSTILE = `<img src=x onerror=alert(1)>"'&</script><!--`;

function shown(kernel: string) {
  return { run: "a1b2c3d4", report: report({}, { kernel }), live: null, problem: "", exported_s: 1 };
}

test("text ends no tag and no attribute", () => {
  assert.equal(escaped(HOSTILE), "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;&lt;/script&gt;&lt;!--");
});

test("JSON in a page holds no sign of HTML, and means the same", () => {
  const text = jsonInHtml({ kernel: `${HOSTILE}\u2028` });
  assert.doesNotMatch(text, /[<>&\u2028\u2029]/);
  assert.deepEqual(JSON.parse(text), { kernel: `${HOSTILE}\u2028` });
});

test("a hostile name makes no element and no script of an exported page", () => {
  const page = alone(shown(HOSTILE), "start();", "body{}", HOSTILE);
  assert.doesNotMatch(page, /<img/);
  assert.equal(page.match(/<script/g)?.length, 2);
  assert.equal(page.match(/<\/script>/g)?.length, 2);
  assert.doesNotMatch(page, /<!--/);
});

test("an exported page lets in its own script and style only, and fetches nothing", () => {
  const script = 'if(a)b="</script>";';
  const page = alone(shown("k"), script, "body{}", "k");
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]?.replaceAll("&#39;", "'");
  const code = /<script>([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "";
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? "";
  const hash = (text: string): string => createHash("sha256").update(text).digest("base64");
  assert.equal(policy, `default-src 'none'; script-src 'sha256-${hash(code)}'; style-src 'sha256-${hash(style)}'`);
  assert.equal(code, 'if(a)b="\\x3c/script>";');
  assert.doesNotMatch(page, /https?:|src=|href=/);
});

test("the page in the editor has its script by a nonce, and nothing inline", () => {
  const page = inEditor({ script: "vscode-resource:/report.js", style: "vscode-resource:/report.css", source: "https://*.example", nonce: "abc", title: HOSTILE });
  assert.match(page, /default-src &#39;none&#39;; script-src &#39;nonce-abc&#39;; style-src https:\/\/\*\.example"/);
  assert.doesNotMatch(page, /unsafe|<style|<img/);
  assert.match(page, /<script nonce="abc" src="vscode-resource:\/report.js"><\/script>/);
});

test("a page in another language carries its sentences as data, and its policy is the same", () => {
  const language = { name: "zh-cn", sentences: { Arms: HOSTILE } };
  const at = { script: "r.js", style: "r.css", source: "https://*.example", nonce: "abc", title: "k" };
  for (const [english, translated] of [
    [inEditor(at), inEditor({ ...at, language })],
    [alone(shown("k"), "start();", "body{}", "k"), alone(shown("k"), "start();", "body{}", "k", language)],
  ] as const) {
    const policy = (page: string): string | undefined => /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
    assert.equal(policy(translated), policy(english));
    assert.match(english, /<html lang="en"/);
    assert.match(translated, /<html lang="zh-cn"/);
    const data = /<script type="application\/json" id="sentences">([^<]*)<\/script>/.exec(translated)?.[1] ?? "";
    assert.deepEqual(JSON.parse(data), language.sentences);
    assert.doesNotMatch(english, /id="sentences"/);
    assert.doesNotMatch(translated, /<img|<!--/);
    assert.ok(translated.indexOf(data) < translated.lastIndexOf("<script"), "it is there when the page's script begins");
  }
});

test("a file's name has nothing that a file system minds", () => {
  assert.equal(fileName("scale_kernel", "a1b2c3d4", "html"), "scale_kernel-a1b2c3d4.html");
  assert.equal(fileName("../<img>/k", "a1", "json"), "_img_k-a1.json");
  assert.equal(fileName("", "a1", "json"), "kernel-a1.json");
});
