/** Folders of the tests, gone when they end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export function temporaryFolder(): string {
  const made = mkdtempSync(path.join(tmpdir(), "kernelband-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}
