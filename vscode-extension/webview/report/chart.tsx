/** A chart that is drawn in the colours of the theme, again when the theme changes, and says in words what it shows. */
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  ScatterController,
  Tooltip,
  type ChartConfiguration,
} from "chart.js";
import { useEffect, useRef } from "preact/hooks";

Chart.register(BarController, BarElement, CategoryScale, LinearScale, LineController, LineElement, LogarithmicScale, PointElement, ScatterController, Tooltip);

export interface Theme {
  text: string;
  muted: string;
  mesh: string;
  blue: string;
  orange: string;
  back: string;
  font: string;
}

export type Draw = (theme: Theme) => ChartConfiguration;

function theme(element: Element): Theme {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(`--kb-${name}`).trim();
  return { text: of("text"), muted: of("muted"), mesh: of("mesh"), blue: of("blue"), orange: of("orange"), back: of("back"), font: style.fontFamily };
}

/** @param height in pixels */
export function Picture({ label, height, draw }: { label: string; height: number; draw: Draw }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart>(undefined);
  const paint = (): void => {
    if (!canvas.current) return;
    const { type, data, options } = configured(draw, canvas.current);
    if (chart.current) {
      chart.current.data = data;
      chart.current.options = options;
      chart.current.update("none");
    } else {
      chart.current = new Chart(canvas.current, { type, data, options });
    }
  };
  const latest = useRef(paint);
  latest.current = paint;

  useEffect(paint, [draw]);
  useEffect(() => {
    const again = (): void => latest.current();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    // The editor changes the class of the body and the variables of the document together.
    const themes = new MutationObserver(again);
    themes.observe(document.body, { attributes: true, attributeFilter: ["class", "data-vscode-theme-id"] });
    dark.addEventListener("change", again);
    return () => {
      themes.disconnect();
      dark.removeEventListener("change", again);
      chart.current?.destroy();
    };
  }, []);

  return (
    <div class="picture" style={{ height: `${height}px` }}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}

function configured(draw: Draw, element: Element): ChartConfiguration & { options: NonNullable<ChartConfiguration["options"]> } {
  const colours = theme(element);
  const config = draw(colours);
  const font = { family: colours.font, size: 12 };
  return {
    ...config,
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      ...config.options,
      color: colours.text,
      font,
      plugins: {
        ...config.options?.plugins,
        tooltip: {
          backgroundColor: colours.back,
          borderColor: colours.muted,
          borderWidth: 1,
          titleColor: colours.text,
          bodyColor: colours.text,
          titleFont: font,
          bodyFont: font,
          displayColors: false,
          padding: 8,
          cornerRadius: 3,
          ...config.options?.plugins?.tooltip,
        },
      },
    },
  };
}

/** What all axes look like. */
export function axis(colours: Theme, title: string) {
  const font = { family: colours.font, size: 12 };
  return {
    title: { display: Boolean(title), text: title, color: colours.muted, font },
    ticks: { color: colours.muted, font, maxRotation: 0 },
    grid: { color: colours.mesh, drawTicks: false },
    border: { color: colours.muted },
  };
}

type Sign = "line" | "dot" | "ring" | "diamond" | "square" | "bar";

/** What a sign in a chart means. */
export function Legend({ items }: { items: { sign: Sign; colour: "blue" | "orange" | "muted"; words: string }[] }) {
  return (
    <ul class="legend">
      {items.map(({ sign, colour, words }) => (
        <li key={words}>
          <svg class={`sign ${colour}`} viewBox="0 0 22 12" width="22" height="12" aria-hidden="true">
            {sign === "line" && <path d="M1 6H21" class="stroke" />}
            {sign === "dot" && <circle cx="11" cy="6" r="4" class="fill" />}
            {sign === "ring" && <circle cx="11" cy="6" r="4" class="stroke" />}
            {sign === "diamond" && <path d="M11 0.5L16.5 6L11 11.5L5.5 6Z" class="fill" />}
            {sign === "square" && <path d="M6.5 1.5H15.5V10.5H6.5Z" class="stroke" />}
            {sign === "bar" && <path d="M3 2H19V10H3Z" class="fill" />}
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}
