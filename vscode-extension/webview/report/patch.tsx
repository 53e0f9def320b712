/** A patch with its lines coloured, numbered, and signed for who sees no colours. */
import * as l10n from "@vscode/l10n";
import { useMemo } from "preact/hooks";
import { patchRows, type Row } from "../../src/report/patch.ts";
import { Wide } from "./parts.tsx";

const SIGNS: Record<Row["kind"], string> = { added: "+", removed: "−", same: "" };

function heard(kind: Row["kind"]): string {
  return { added: l10n.t("added"), removed: l10n.t("removed"), same: "" }[kind];
}

export function Patch({ text }: { text: string }) {
  const files = useMemo(() => patchRows(text), [text]);
  if (!files) {
    return (
      <Wide label={l10n.t("The patch")}>
        <pre class="diff">{text}</pre>
      </Wide>
    );
  }
  return (
    <>
      {files.map(({ path, hunks, added, removed }) => (
        <figure key={path} class="patch">
          <figcaption>
            <code>{path}</code> <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
          </figcaption>
          <Wide label={l10n.t("Changes in {0}", path)}>
            <table class="diff">
              <caption class="heard">{l10n.t("Changes in {0}", path)}</caption>
              <thead class="heard">
                <tr>
                  <th scope="col">{l10n.t("Line before")}</th>
                  <th scope="col">{l10n.t("Line after")}</th>
                  <th scope="col">{l10n.t("Change")}</th>
                  <th scope="col">{l10n.t("Text")}</th>
                </tr>
              </thead>
              {hunks.map(({ heading, rows }) => (
                <tbody key={heading}>
                  <tr class="hunk">
                    <th scope="rowgroup" colSpan={4}>
                      {heading}
                    </th>
                  </tr>
                  {rows.map(({ kind, before, after, text: line }, index) => (
                    <tr key={index} class={kind}>
                      <td class="num">{before}</td>
                      <td class="num">{after}</td>
                      <td class="sign">
                        <span aria-hidden="true">{SIGNS[kind]}</span>
                        <span class="heard">{heard(kind)}</span>
                      </td>
                      <td class="line">{line}</td>
                    </tr>
                  ))}
                </tbody>
              ))}
            </table>
          </Wide>
        </figure>
      ))}
    </>
  );
}
