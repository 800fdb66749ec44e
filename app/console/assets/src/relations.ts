// Relations: entries are found and shown by their title. The input of the form keeps the stored value.
import { type Choice, matching } from "./choices.ts";
import { initChips } from "./chips.ts";
import { createCombobox } from "./combobox.ts";
import { create } from "./dom.ts";

const MAX_SHOWN = 50;

/** The entries that a relation can name, from the list of the page and the search of the service. */
class Entries {
  private readonly titles: Map<string, string>;
  private readonly url: string;
  private readonly unknown: Set<string>;

  constructor(input: HTMLElement) {
    const list = document.getElementById(input.dataset.relation!) as HTMLDataListElement | null;
    const options = [...(list?.options ?? [])].map((option): [string, string] => [option.value, option.label]);
    this.titles = new Map([...options, ...Object.entries<string>(JSON.parse(input.dataset.stored || "{}"))]);
    this.unknown = new Set((JSON.parse(input.dataset.withoutEntry || "[]") as unknown[]).map(String));
    this.url = list?.dataset.searchUrl ?? "";
  }

  title(value: string): string {
    return this.titles.get(value) ?? value;
  }

  /** Return the value of the entry with a title or value, or null. */
  valueOf(typed: string): string | null {
    if (this.titles.has(typed)) return typed;
    return [...this.titles].find(([, title]) => title === typed)?.[0] ?? null;
  }

  /** Return whether no entry has a value. With a search, only the service knows. */
  isUnknown(value: string): boolean {
    return this.unknown.has(value) || (!this.url && !this.titles.has(value));
  }

  async search(query: string, signal: AbortSignal): Promise<Choice[]> {
    if (this.url && query) {
      const response = await fetch(`${this.url}&q=${encodeURIComponent(query)}`, { signal, headers: { Accept: "application/json" } });
      const { options }: { options: Choice[] } = await response.json();
      for (const { value, title } of options) this.titles.set(value, title);
      return options.map(({ value, title }) => ({ value, title, detail: value }));
    }
    return matching(this.titles, query).slice(0, MAX_SHOWN);
  }
}

/** Show the titles of entries in the inputs of relations below an element. */
export function initRelations(root: HTMLElement): void {
  for (const area of root.querySelectorAll<HTMLTextAreaElement>("textarea[data-relation]")) {
    const entries = new Entries(area);
    const addSearch = (input: HTMLInputElement, isFree: (value: string) => boolean, choose: (value: string) => void) => {
      const search = async (query: string, signal: AbortSignal) => (await entries.search(query, signal)).filter(({ value }) => isFree(value));
      return createCombobox({ input, search, choose: ({ value }) => choose(value) });
    };
    initChips(area, { title: (value) => entries.title(value), isUnknown: (value) => entries.isUnknown(value), addSearch });
  }
  for (const input of root.querySelectorAll<HTMLInputElement>("input[data-relation]")) initRelation(input);
}

/** Show the title of the entry of an input instead of its value. */
function initRelation(input: HTMLInputElement): void {
  const entries = new Entries(input);
  const id = `${input.id}-entry`;
  const search = create("input", { class: "input", id, type: "text", dir: "auto" });
  for (const name of ["aria-describedby", "aria-invalid", "aria-required"]) if (input.hasAttribute(name)) search.setAttribute(name, input.getAttribute(name)!);
  for (const label of [...(input.labels ?? [])]) label.htmlFor = id;
  const stored = create("p", { class: "field__help mono", dir: "ltr" });
  const show = () => {
    const { value } = input;
    search.value = value && entries.title(value);
    const isUnknown = Boolean(value) && entries.isUnknown(value);
    search.classList.toggle("input--unknown", isUnknown);
    stored.textContent = value && search.value !== value ? value : "";
    stored.hidden = !stored.textContent;
  };
  const store = (value: string) => {
    input.value = value;
    show();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const list = createCombobox({
    input: search,
    search: (query, signal) => entries.search(query === entries.title(input.value) ? "" : query, signal),
    choose: (choice) => store(choice.value),
  });
  search.addEventListener("focus", () => search.select());
  // Typed text is a search. Without a choice, the entry remains; an empty text removes it.
  search.addEventListener("input", (event) => event.stopPropagation());
  search.addEventListener("change", (event) => {
    event.stopPropagation();
    const typed = search.value.trim();
    const value = typed && typed !== entries.title(input.value) ? entries.valueOf(typed) : typed && input.value;
    if (value !== null && value !== input.value) store(value);
    else show();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  const hadFocus = document.activeElement === input;
  input.hidden = true;
  input.after(create("div", { class: "relation" }, search, list), stored);
  show();
  if (hadFocus) search.focus();
}
