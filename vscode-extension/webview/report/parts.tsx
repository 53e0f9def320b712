/** Pieces that all sections are made of. */
import * as l10n from "@vscode/l10n";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A table that scrolls by itself where it is too wide, by keys too. */
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="wide" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

/** What is there for who asks: the same data as a chart's, or more than most want to know. */
export function Disclosed({ words = l10n.t("Show as a table"), children }: { words?: string; children: ComponentChildren }) {
  return (
    <details class="disclosed">
      <summary>{words}</summary>
      {children}
    </details>
  );
}

/** Headings; `number` is above numbers, `kind` a class of its cells. */
export function Columns({ names }: { names: readonly (string | { number: string; kind?: string })[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) =>
          typeof name === "string" ? (
            <th key={name} scope="col">
              {name}
            </th>
          ) : (
            <th key={name.number} scope="col" class={`num ${name.kind ?? ""}`}>
              {name.number}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}
