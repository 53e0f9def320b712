/** The order of the variants' table. */
import type { Variant } from "./shape.ts";

export type Column = "number" | "change" | "result" | "state" | "parent";
export interface Order {
  column: Column;
  down: boolean;
}

/** As the server has them: the best first. */
export const BEST_FIRST: Order = { column: "result", down: true };

/** Where a column begins when it is chosen, and how it goes on when it is chosen again. */
export function next(order: Order, column: Column): Order {
  return order.column === column ? { column, down: !order.down } : { column, down: column === "result" };
}

export function sorted(variants: readonly Variant[], { column, down }: Order): Variant[] {
  if (column === "result") return down ? [...variants] : [...variants].reverse();
  const sign = down ? -1 : 1;
  return [...variants].sort((a, b) => sign * compare(a, b, column) || a.number - b.number);
}

function compare(a: Variant, b: Variant, column: Exclude<Column, "result">): number {
  if (column === "number") return a.number - b.number;
  if (column === "parent") return a.parent - b.parent;
  return column === "change" ? a.move.localeCompare(b.move) : a.state.localeCompare(b.state);
}
