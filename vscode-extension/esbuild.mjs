// Bundles the extension and the scripts of its webviews; with --tests, the unit tests instead.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const node = { bundle: true, platform: "node", target: "node20", format: "cjs", sourcemap: true, logLevel: "warning" };

if (process.argv.includes("--tests")) {
  rmSync("dist-test", { recursive: true, force: true });
  const files = readdirSync("test", { recursive: true }).filter((name) => name.endsWith(".test.ts"));
  await build({ ...node, entryPoints: files.map((name) => `test/${name}`), outdir: "dist-test" });
} else {
  rmSync("dist", { recursive: true, force: true });
  // VS Code loads `vscode` itself; the metafile says which packages are inside (scripts/notices.py).
  const done = await build({ ...node, entryPoints: ["src/extension.ts"], outdir: "dist", external: ["vscode"], minify: true, metafile: true });
  writeFileSync("dist/inputs.json", JSON.stringify(Object.keys(done.metafile.inputs)));
}
