// Groups of fields and lists of objects: changes without page loads. The service renders a changed list or group.
import { create, formBody, toast } from "./dom.ts";
import { text } from "./texts.ts";

const SUMMARY_VALUES = 3;
type InitFields = (form: HTMLFormElement, root: HTMLElement) => void;

/** Add the controls to the groups and lists below an element. `initFields` adds those of rendered fields. */
export function initGroups(form: HTMLFormElement, root: HTMLElement, initFields: InitFields): void {
  const each = <Type extends HTMLElement>(selector: string) => [root, ...root.querySelectorAll<HTMLElement>(selector)].filter((one): one is Type => one.matches(selector));
  for (const group of each<HTMLDetailsElement>("details[data-group]")) group.addEventListener("toggle", () => !group.open && showSummary(group));
  for (const select of each<HTMLSelectElement>("select[data-variant]")) initVariant(form, select, initFields);
  for (const list of each("[data-object-list]")) initList(form, list, initFields);
  for (const button of each<HTMLButtonElement>("button[data-fold]")) initFold(form, button);
}

/** Let a button collapse all groups and entries of its list, or of the form. If all are collapsed, it expands them. */
function initFold(form: HTMLFormElement, button: HTMLButtonElement): void {
  const around = button.closest<HTMLElement>("[data-object-list]") ?? form;
  const [collapse, expand] = [button.dataset.fold ?? "", button.textContent ?? ""];
  const groups = () => [...around.querySelectorAll<HTMLDetailsElement>("details.group")].filter((group) => !isClosed(group));
  const hasOpen = () => groups().some((group) => group.open);
  const update = () => (button.textContent = hasOpen() ? collapse : expand);
  around.addEventListener("toggle", update, { capture: true });
  button.addEventListener("click", () => {
    const open = !hasOpen();
    for (const group of groups()) group.open = open;
  });
  button.hidden = false;
  update();
}

/** Show the fields of the chosen kind of an object. */
function initVariant(form: HTMLFormElement, select: HTMLSelectElement, initFields: InitFields): void {
  select.addEventListener("change", () => {
    const group = select.closest<HTMLElement>("details[data-group]");
    if (group) void change(form, group, "show", select, initFields);
  });
}

function itemsOf(list: HTMLElement): HTMLDetailsElement[] {
  return [...list.querySelectorAll<HTMLDetailsElement>(":scope > details[data-item]")];
}

function orderOf(list: HTMLElement): HTMLInputElement {
  return list.querySelector<HTMLInputElement>(':scope > input[type="hidden"]')!;
}

/** Let the buttons, the keys and dragging change a list of objects. The service renders the changed list. */
function initList(form: HTMLFormElement, list: HTMLElement, initFields: InitFields): void {
  for (const button of list.querySelectorAll<HTMLButtonElement>('button[name="list-action"]')) {
    if (button.closest("[data-object-list]") !== list) continue;
    button.addEventListener("click", (event) => {
      event.preventDefault();
      void change(form, list, button.value, button, initFields);
    });
  }
  let dragged: HTMLElement | null = null;
  for (const item of itemsOf(list)) {
    const summary = item.querySelector<HTMLElement>(":scope > summary")!;
    summary.draggable = true;
    item.addEventListener("toggle", () => {
      if (!isClosed(item)) return void (item.open || showSummary(item));
      if (item.open) void change(form, list, `open ${item.id.slice("group.".length)}`, summary, initFields);
    });
    summary.addEventListener("keydown", (event) => {
      const verb = { ArrowUp: "up", ArrowDown: "down" }[event.key];
      const button = event.altKey && verb ? item.querySelector<HTMLButtonElement>(`:scope > .group__content > .form__actions > button[value^="${verb} "]`) : null;
      if (!button) return;
      event.preventDefault();
      void change(form, list, button.value, summary, initFields);
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
      void change(form, list, "show", dragged.querySelector("summary")!, initFields);
    });
    summary.addEventListener("dragend", () => (dragged = null));
  }
}

/** Return whether an item of a long list has no inputs yet. The service renders them when it is opened. */
function isClosed(item: HTMLElement): boolean {
  return "closed" in item.dataset;
}

/** Show the first values of a collapsed item or group. */
function showSummary(item: HTMLDetailsElement): void {
  const inputs = item.querySelectorAll<HTMLInputElement>(":scope .input[name]:not([hidden]), :scope .relation > .input");
  const texts = [...inputs].filter((input) => !input.closest(".image-field"));
  const values = (texts.some(({ value }) => value) ? texts : [...inputs]).map((input) => (input instanceof HTMLSelectElement ? input.selectedOptions[0]?.text : input.value) ?? "");
  item.querySelector(":scope > summary > .group__values")!.textContent = values.filter(Boolean).slice(0, SUMMARY_VALUES).join(" · ");
}

/** Send a command on a list and show the list that the service returns. If it does not respond, load the page. */
async function change(form: HTMLFormElement, list: HTMLElement, action: string, source: HTMLElement, initFields: InitFields): Promise<void> {
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
    const refused = response && response.status < 500 ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    toast(refused?.querySelector(".banner--error p")?.textContent ?? text("The service does not respond. Your text is still here."));
    return source.focus();
  }
  const next = document.importNode(rendered, true);
  if (next instanceof HTMLDetailsElement) next.open = true;
  const known = new Set(before.map((each) => each.dataset.item));
  for (const each of itemsOf(next)) each.open = !isClosed(each) && (open.has(each.dataset.item) || !known.has(each.dataset.item));
  list.replaceWith(next);
  initFields(form, next);
  next.dispatchEvent(new Event("input", { bubbles: true }));
  if (source.id) document.getElementById(source.id)?.focus();
  else focusAfter(next, verb, target, id ?? "", removedAt, source.matches("summary"), verb === "show" ? undefined : itemsOf(next).find((each) => !known.has(each.dataset.item)));
  if (removedAt >= 0) offerUndo(form, next, item!, removedAt, initFields);
}

/** Show the lists of a saved page, whose entries have the ids of the new order, and keep the open entries and the focus. */
export function takeOverLists(form: HTMLFormElement, other: HTMLFormElement, initFields: InitFields): void {
  for (const list of form.querySelectorAll<HTMLElement>("[data-object-list]")) {
    const saved = form.contains(list) && other.querySelector<HTMLElement>(`#${CSS.escape(list.id)}`);
    if (!saved || orderOf(saved).value === orderOf(list).value) continue;
    const next = document.importNode(saved, true);
    const controls = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>("summary, input, textarea, select, button")];
    const open = itemsOf(list).map((each) => each.open);
    const focused = controls(list).indexOf(document.activeElement as HTMLElement);
    itemsOf(next).forEach((each, number) => (each.open = !isClosed(each) && (open[number] ?? false)));
    list.replaceWith(next);
    initFields(form, next);
    if (focused >= 0) controls(next)[focused]?.focus();
  }
}

function focusAfter(list: HTMLElement, verb: string, target: string, id: string, removedAt: number, isSummary: boolean, added?: HTMLElement): void {
  const items = itemsOf(list);
  const add = list.querySelector<HTMLElement>(":scope > [data-add] :is(button, summary)");
  if (added) {
    const inputs = [...added.querySelectorAll<HTMLElement>(".chip-list__input, .input, .switch, .image-field button")];
    return (inputs.find((input) => input.checkVisibility({ visibilityProperty: true })) ?? added.querySelector("summary"))!.focus();
  }
  if (verb === "remove") return void (items[Math.min(removedAt, items.length - 1)]?.querySelector<HTMLElement>("summary") ?? add)?.focus();
  const item = items.find((each) => each.dataset.item === id);
  const button = isSummary ? null : item?.querySelector<HTMLElement>(`button[value="${CSS.escape(`${verb} ${target}`)}"]`);
  (button ?? item?.querySelector<HTMLElement>("summary"))?.focus();
}

/** Let the user restore a removed item with the values that it had. */
function offerUndo(form: HTMLFormElement, list: HTMLElement, item: HTMLDetailsElement, at: number, initFields: InitFields): void {
  const undo = () => {
    const present = document.getElementById(list.id);
    if (!present) return;
    const next = itemsOf(present)[at];
    if (next) next.before(item);
    else orderOf(present).after(item);
    if (!next) present.querySelector(":scope > [data-add]")!.before(item);
    orderOf(present).value = itemsOf(present).map((each) => each.dataset.item).join(",");
    void change(form, present, "show", item.querySelector("summary")!, initFields);
    document.querySelector(".toast")?.remove();
  };
  toast(create("p", {}, text("Entry removed")), create("button", { class: "button button--small", type: "button", click: undo }, text("Undo")));
}
