// Controls of the fields in the side panel: chips, dates, image buttons, and lists of objects without page loads.
import { initChips } from "./chips.ts";
import { create, formBody, toast } from "./dom.ts";
import { text } from "./texts.ts";

const SUMMARY_VALUES = 3;

/** Add the controls to the fields below an element: the form, or a list that the service rendered again. */
export function initFields(form: HTMLFormElement, root: HTMLElement): void {
  for (const area of root.querySelectorAll<HTMLTextAreaElement>("textarea[data-chips]:not([data-relation])")) initChips(area);
  for (const input of root.querySelectorAll<HTMLInputElement>("input[data-zone]")) initDate(input);
  if (root.querySelector("[data-relation]")) void import("./relations.ts").then(({ initRelations }) => initRelations(root));
  initImages(form, root);
  const lists = [...root.querySelectorAll<HTMLElement>("[data-object-list]")];
  if (root.matches("[data-object-list]")) lists.push(root);
  for (const list of lists) initList(form, list);
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

/** Let the buttons at image fields choose an image of the repository or upload one. */
function initImages(form: HTMLFormElement, root: HTMLElement): void {
  const editor = form.querySelector<HTMLElement>("[data-upload-url]");
  if (!editor) return;
  for (const button of root.querySelectorAll<HTMLButtonElement>("button[data-choose-image]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const { chooseImage } = await import("./image-dialog.ts");
      const chosen = await chooseImage(editor, { isField: true });
      const input = document.getElementById(button.dataset.chooseImage!) as HTMLInputElement | null;
      if (!chosen || !input) return;
      input.value = chosen.url;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
}

function itemsOf(list: HTMLElement): HTMLDetailsElement[] {
  return [...list.querySelectorAll<HTMLDetailsElement>(":scope > details[data-item]")];
}

function orderOf(list: HTMLElement): HTMLInputElement {
  return list.querySelector<HTMLInputElement>(':scope > input[type="hidden"]')!;
}

/** Let the buttons, the keys and dragging change a list of objects. The service renders the changed list. */
function initList(form: HTMLFormElement, list: HTMLElement): void {
  for (const button of list.querySelectorAll<HTMLButtonElement>('button[name="list-action"]')) {
    if (button.closest("[data-object-list]") !== list) continue;
    button.addEventListener("click", (event) => {
      event.preventDefault();
      void change(form, list, button.value, button);
    });
  }
  let dragged: HTMLElement | null = null;
  for (const item of itemsOf(list)) {
    const summary = item.querySelector<HTMLElement>(":scope > summary")!;
    summary.draggable = true;
    item.addEventListener("toggle", () => !item.open && showSummary(item));
    summary.addEventListener("keydown", (event) => {
      const verb = { ArrowUp: "up", ArrowDown: "down" }[event.key];
      const button = event.altKey && verb ? item.querySelector<HTMLButtonElement>(`:scope > .group__content > .form__actions > button[value^="${verb} "]`) : null;
      if (!button) return;
      event.preventDefault();
      void change(form, list, button.value, summary);
    });
    summary.addEventListener("dragstart", (event) => {
      event.stopPropagation();
      dragged = item;
      event.dataTransfer?.setData("text/plain", summary.textContent!.trim());
    });
    item.addEventListener("dragover", (event) => dragged && event.preventDefault());
    item.addEventListener("drop", (event) => {
      if (!dragged || dragged === item) return;
      event.preventDefault();
      const items = itemsOf(list);
      if (items.indexOf(dragged as HTMLDetailsElement) < items.indexOf(item)) item.after(dragged);
      else item.before(dragged);
      orderOf(list).value = itemsOf(list).map((each) => each.dataset.item).join(",");
      void change(form, list, "show", dragged.querySelector("summary")!);
    });
    summary.addEventListener("dragend", () => (dragged = null));
  }
}

/** Show the first values of a collapsed item. */
function showSummary(item: HTMLDetailsElement): void {
  const inputs = item.querySelectorAll<HTMLInputElement>(":scope .input[name]:not([hidden])");
  const values = [...inputs].map((input) => (input instanceof HTMLSelectElement ? input.selectedOptions[0]?.text : input.value) ?? "");
  item.querySelector(":scope > summary > .group__values")!.textContent = values.filter(Boolean).slice(0, SUMMARY_VALUES).join(" · ");
}

/** Send a command on a list and show the list that the service returns. If it does not respond, load the page. */
async function change(form: HTMLFormElement, list: HTMLElement, action: string, source: HTMLElement): Promise<void> {
  const [verb = "", target = ""] = action.split(" ");
  const before = itemsOf(list);
  const item = source.closest<HTMLDetailsElement>("details[data-item]");
  const id = item && list.contains(item) ? item.dataset.item : "";
  const removedAt = verb === "remove" && item ? before.indexOf(item) : -1;
  const open = new Set(before.filter((each) => each.open).map((each) => each.dataset.item));
  const body = formBody(form);
  body.set("list-action", action);
  list.inert = true;
  const response = await fetch(form.action, { method: "POST", body, credentials: "same-origin" }).catch(() => null);
  const page = response?.ok && !response.redirected ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  const rendered = page?.getElementById(list.id);
  list.inert = false;
  if (!rendered) {
    toast(text("The service does not respond. Your text is still here."));
    return source.focus();
  }
  const next = document.importNode(rendered, true);
  const known = new Set(before.map((each) => each.dataset.item));
  for (const each of itemsOf(next)) each.open = open.has(each.dataset.item) || !known.has(each.dataset.item);
  list.replaceWith(next);
  initFields(form, next);
  next.dispatchEvent(new Event("input", { bubbles: true }));
  focusAfter(next, verb, target, id ?? "", removedAt, source.matches("summary"));
  if (removedAt >= 0) offerUndo(form, next, item!, removedAt);
}

function focusAfter(list: HTMLElement, verb: string, target: string, id: string, removedAt: number, isSummary: boolean): void {
  const items = itemsOf(list);
  const add = list.querySelector<HTMLElement>(":scope > .form__actions > button");
  if (verb === "add") return void (items.at(-1)?.querySelector<HTMLElement>(".chip-list__input, .input:not([hidden])") ?? add)?.focus();
  if (verb === "remove") return void (items[Math.min(removedAt, items.length - 1)]?.querySelector<HTMLElement>("summary") ?? add)?.focus();
  const item = items.find((each) => each.dataset.item === id);
  const button = isSummary ? null : item?.querySelector<HTMLElement>(`button[value="${CSS.escape(`${verb} ${target}`)}"]`);
  (button ?? item?.querySelector<HTMLElement>("summary"))?.focus();
}

/** Let the user restore a removed item with the values that it had. */
function offerUndo(form: HTMLFormElement, list: HTMLElement, item: HTMLDetailsElement, at: number): void {
  const undo = () => {
    const present = document.getElementById(list.id);
    if (!present) return;
    const next = itemsOf(present)[at];
    if (next) next.before(item);
    else orderOf(present).after(item);
    if (!next) present.querySelector(":scope > .form__actions")!.before(item);
    orderOf(present).value = itemsOf(present).map((each) => each.dataset.item).join(",");
    void change(form, present, "show", item.querySelector("summary")!);
    document.querySelector(".toast")?.remove();
  };
  toast(create("p", {}, text("Entry removed")), create("button", { class: "button button--small", type: "button", click: undo }, text("Undo")));
}
