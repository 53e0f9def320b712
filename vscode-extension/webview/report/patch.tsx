/** A patch with its lines coloured, numbered, and signed for who sees no colours. */
import { useMemo } from "preact/hooks";
import { patchRows, type Row } from "../../src/report/patch.ts";
import { Wide } from "./parts.tsx";

const SIGNS: Record<Row["kind"], [string, string]> = { added: ["+", "added"], removed: ["−", "removed"], same: ["", ""] };

export function Patch({ text }: { text: string }) {
  const files = useMemo(() => patchRows(text), [text]);
  if (!files) {
    return (
      <Wide label="The patch">
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
          <Wide label={`Changes in ${path}`}>
            <table class="diff">
              <caption class="heard">Changes in {path}</caption>
              <thead class="heard">
                <tr>
                  <th scope="col">Line before</th>
                  <th scope="col">Line after</th>
                  <th scope="col">Change</th>
                  <th scope="col">Text</th>
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
                        <span aria-hidden="true">{SIGNS[kind][0]}</span>
                        <span class="heard">{SIGNS[kind][1]}</span>
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
