// Bundles the extension and the scripts of its webviews; with --tests, the unit tests instead.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const node = { bundle: true, platform: "node", target: "node20", format: "cjs", sourcemap: true, logLevel: "warning" };

if (process.argv.includes("--tests")) {
  rmSync("dist-test", { recursive: true, force: true });
  const files = ["test", "webview/test"].flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`));
  await build({ ...node, entryPoints: files.filter((name) => /\.test\.tsx?$/.test(name)), outdir: "dist-test", outbase: "." });
} else {
  rmSync("dist", { recursive: true, force: true });
  const out = { outdir: "dist", minify: true, metafile: true };
  const page = { bundle: true, platform: "browser", target: "es2022", format: "iife", logLevel: "warning", charset: "utf8" };
  // VS Code loads `vscode` itself; the metafiles say which packages are inside (scripts/notices.py).
  const done = await Promise.all([
    build({ ...node, ...out, entryPoints: ["src/extension.ts"], external: ["vscode"] }),
    build({ ...page, ...out, entryPoints: { report: "webview/report/main.tsx" } }),
    build({ ...page, ...out, entryPoints: { report: "webview/report/report.css" } }),
  ]);
  writeFileSync("dist/inputs.json", JSON.stringify(done.flatMap(({ metafile }) => Object.keys(metafile.inputs))));
}
