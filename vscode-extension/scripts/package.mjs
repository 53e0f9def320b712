// Builds everything and makes dist/kernelband.vsix. The server's part is bundled by `make vsix`, which calls this.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";

const LARGEST = 5_000_000; // bytes; who installs over a slow line shall not wait
const OUT = "dist/kernelband.vsix";

if (!existsSync("bundled/libs/kernelband")) {
  console.error("bundled/libs has no server: run `make vsix`, which fills it first.");
  process.exit(1);
}
execFileSync("node", ["esbuild.mjs"], { stdio: "inherit" });
execFileSync("../.venv/bin/python", ["scripts/notices.py"], { stdio: "inherit" });
copyFileSync("../LICENSE", "LICENSE");
// An editor's page shows pictures with an https address only (vsce refuses others, data URIs too). So the repository's are shown, where the
// manifest names one; without one they are left out, and who reads the sources sees them.
const { repository } = JSON.parse(readFileSync("package.json", "utf8"));
const page = repository?.url.replace(/^git\+|\.git$/g, "");
const readme = readFileSync("README.md", "utf8");
writeFileSync("dist/README.md", page ? readme : readme.replace(/^!\[[^\]]*\]\(pictures\/[\w-]+\.png\)\n\n/gm, ""));
const links = page
  ? ["--baseImagesUrl", `${page}/raw/HEAD/vscode-extension`, "--baseContentUrl", `${page}/blob/HEAD/vscode-extension`]
  : ["--allow-missing-repository", "--no-rewrite-relative-links"];
execFileSync("npx", ["--no-install", "vsce", "package", "--no-dependencies", ...links, "--readme-path", "dist/README.md", "-o", OUT], { stdio: ["ignore", "ignore", "inherit"] });
const size = statSync(OUT).size;
console.log(`${OUT}: ${(size / 1e6).toFixed(2)} MB`);
if (size > LARGEST) {
  console.error(`That is more than ${LARGEST / 1e6} MB: see what \`npx vsce ls\` lists.`);
  process.exit(1);
}
