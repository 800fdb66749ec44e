// A text input with a list of results: arrow keys move, Enter and clicks choose, Escape closes.
import type { Choice } from "./choices.ts";
import { create, onLeave } from "./dom.ts";
import { text } from "./texts.ts";

interface ComboboxOptions {
  input: HTMLInputElement;
  /** Return the choices for a text. */
  search: (query: string, signal: AbortSignal) => Promise<Choice[]>;
  choose: (choice: Choice) => void;
}

const SEARCH_DELAY_MS = 150;
let lists = 0;

/** Show choices below an input. Returns the list, which the caller inserts after the input. */
export function createCombobox({ input, search, choose }: ComboboxOptions): HTMLElement {
  const id = `choices-${++lists}`;
  const list = create("ul", { class: "choice-list", role: "listbox", id, "aria-label": text("Results"), hidden: true });
  const names = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id, autocomplete: "off" };
  for (const [name, value] of Object.entries(names)) input.setAttribute(name, value);
  let shown: Choice[] = [];
  let active = -1;
  let timer = 0;
  let request = new AbortController();

  const close = () => {
    clearTimeout(timer);
    request.abort();
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const activate = (at: number) => {
    active = at;
    for (const [index, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(index === at));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const pick = (choice: Choice) => {
    close();
    choose(choice);
  };
  const render = () => {
    const items = shown.map((choice, at) => {
      const item = create("li", { class: "choice-list__item", role: "option", id: `${id}-${at}` }, create("bdi", {}, choice.title));
      if (choice.detail) item.append(create("small", { class: "muted" }, choice.detail));
      // The input keeps the focus.
      item.addEventListener("mousedown", (event) => event.preventDefault());
      item.addEventListener("click", () => pick(choice));
      return item;
    });
    list.replaceChildren(...(items.length ? items : [create("li", { class: "choice-list__item muted" }, text("No results."))]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    activate(items.length ? 0 : -1);
  };
  const open = async () => {
    request.abort();
    const own = (request = new AbortController());
    const choices = await search(input.value.trim(), own.signal).catch(() => []);
    if (own.signal.aborted || document.activeElement !== input) return;
    shown = choices;
    render();
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void open(), SEARCH_DELAY_MS);
  });
  input.addEventListener("click", () => list.hidden && void open());
  onLeave(input, close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && list.hidden) void open();
    else if (step) activate(shown.length ? (active + step + shown.length) % shown.length : -1);
    else if (event.key === "Enter" && !list.hidden && shown[active]) pick(shown[active]!);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  return list;
}
