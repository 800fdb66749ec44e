// Controls of the fields in the side panel: chips, counters, dates and image buttons. Groups and lists of objects are loaded if needed.
import { initChips } from "./chips.ts";
import { create } from "./dom.ts";
import { initImages } from "./image-field.ts";
import { text } from "./texts.ts";

const GROUPS = "[data-object-list], details[data-group]";

/** Add the controls to the fields below an element: the form, or a list that the service rendered again. */
export function initFields(form: HTMLFormElement, root: HTMLElement): void {
  for (const area of root.querySelectorAll<HTMLTextAreaElement>("textarea[data-chips]:not([data-relation])")) initChips(area);
  for (const input of root.querySelectorAll<HTMLInputElement>("input[data-zone]")) initDate(input);
  if (root.querySelector("[data-relation]")) void import("./relations.ts").then(({ initRelations }) => initRelations(root));
  for (const help of root.querySelectorAll<HTMLElement>(".field__help[data-most]")) initCounter(help);
  for (const state of root.querySelectorAll<HTMLElement>("[data-draft-input]")) initDraftState(form, state);
  initImages(form, root);
  if (root.matches(GROUPS) || root.querySelector(GROUPS)) void import("./field-groups.ts").then(({ initGroups }) => initGroups(form, root, initFields));
}

/** Add the buttons for the present time and for no value. The time is written in the zone of the value. */
function initDate(input: HTMLInputElement): void {
  const label = input.labels?.[0]?.textContent?.trim() ?? "";
  const set = (value: string) => {
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.focus();
  };
  const now = () => {
    const match = /^([+-])(\d\d):?(\d\d)$/.exec(input.dataset.zone ?? "");
    const minutes = match ? Number(`${match[1]}1`) * (Number(match[2]) * 60 + Number(match[3])) : -new Date().getTimezoneOffset();
    set(new Date(Date.now() + minutes * 60_000).toISOString().slice(0, input.type === "date" ? 10 : 16));
  };
  const button = (name: string, click: () => void) => create("button", { class: "button button--small", type: "button", "aria-label": `${name}: ${label}`, click }, name);
  input.after(create("p", { class: "form__actions" }, button(input.type === "date" ? text("Today") : text("Now"), now), button(text("Clear"), () => set(""))));
}

/** Count the characters of a limited text while it is typed. A longer text is marked, not cut. */
function initCounter(help: HTMLElement): void {
  const input = document.getElementById(help.id.replace(/-help$/, "")) as HTMLInputElement | null;
  const output = help.querySelector<HTMLElement>("[data-count]");
  if (!input || !output) return;
  const count = () => {
    const length = [...input.value].length;
    output.textContent = String(length);
    help.toggleAttribute("data-over", length > Number(help.dataset.most));
  };
  input.addEventListener("input", count);
  count();
}

/** Say whether the page is a draft when its field changes. */
function initDraftState(form: HTMLFormElement, state: HTMLElement): void {
  const name = CSS.escape(state.dataset.draftInput ?? "");
  const drafts = JSON.parse(state.dataset.drafts ?? "[]") as string[];
  form.addEventListener("input", () => {
    const input = form.querySelector<HTMLInputElement | HTMLSelectElement>(`[name="${name}"]`);
    if (!input) return;
    const value = input.matches("[type=checkbox]") ? String((input as HTMLInputElement).checked) : input.value;
    [...state.children].forEach((each, at) => each.toggleAttribute("hidden", drafts.includes(value) !== (at === 0)));
  });
}
