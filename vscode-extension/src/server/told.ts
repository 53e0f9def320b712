/** What the server has told the user itself. */
import { ResponseError } from "vscode-languageclient/node";

const REFUSED = -32803;

/** Whether the server has shown the user this error itself. */
export function told(error: unknown): boolean {
  return error instanceof ResponseError && error.code === REFUSED;
}
