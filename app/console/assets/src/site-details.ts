// "Details of this page": how many texts of each file the page shows, and the values that it uses elsewhere than in texts.
import { create } from "./dom.ts";
import type { MarkedText } from "./marked-texts.ts";
import { text } from "./texts.ts";

const MAX_LINES = 50;

/** Write the details of a page into a list. */
export function showDetails(list: Element, shown: readonly MarkedText[], misplaced: readonly MarkedText[]): void {
  const files = new Map<string, { title: string; marks: number; numbers: Set<number> }>();
  for (const { path, title, marks, number } of shown) {
    const file = files.get(path) ?? { title, marks, numbers: new Set() };
    files.set(path, file);
    file.numbers.add(number);
  }
  const counts = [...files.values()].map(({ title, marks, numbers }) => line(title, text("{count} of {total} texts can be changed here", { count: numbers.size, total: marks })));
  const others = misplaced.map(({ title, part }) => line(`${title} · ${part}`, text("The site uses this text in an address or in code. It opens in the form only.")));
  list.replaceChildren(...[...counts, ...others].slice(0, MAX_LINES));
}

function line(title: string, detail: string): HTMLElement {
  return create("p", { class: "site-page__detail" }, create("bdi", {}, title), create("span", { class: "muted small" }, detail));
}
