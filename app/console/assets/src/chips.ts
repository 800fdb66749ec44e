// Lists of texts as chips over a textarea with one entry per line, which remains the value of the form.
import { create, icon, onLeave } from "./dom.ts";
import { text } from "./texts.ts";

/** The entries of a relation. `addSearch` lets an input choose one, and returns the list of choices. */
export interface ChipEntries {
  title: (value: string) => string;
  isUnknown: (value: string) => boolean;
  addSearch: (input: HTMLInputElement, isFree: (value: string) => boolean, choose: (value: string) => void) => HTMLElement;
}

/** Show the list of a textarea as chips. A typed entry is part of the value at once, unless the list is a relation to `entries`. */
export function initChips(area: HTMLTextAreaElement, entries: ChipEntries | null = null): void {
  const nameOf = (item: string) => entries?.title(item) ?? item;
  let items = area.value.split("\n").map((line) => line.trim()).filter(Boolean);
  let dragged = -1;
  const id = `${area.id}-entry`;
  const input = create("input", { class: "chip-list__input", id, list: area.dataset.list, dir: "auto", autocomplete: "off" });
  const status = create("span", { class: "visually-hidden", role: "status" });
  const list = create("ul", { class: "chip-list__items" });
  const box = create("div", { class: "chip-list" }, list, input, status);
  for (const label of [...area.labels]) label.htmlFor = id;
  const described = area.getAttribute("aria-describedby");
  if (described) input.setAttribute("aria-describedby", described);
  const hadFocus = area === document.activeElement;
  area.hidden = true;
  area.after(box);
  if (hadFocus) input.focus();

  const store = () => {
    const typed = entries ? "" : input.value.trim();
    area.value = [...items, ...(typed ? [typed] : [])].join("\n");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const chips = () => [...list.querySelectorAll<HTMLElement>(".chip__text")];
  const focus = (at: number) => (chips()[Math.min(at, items.length - 1)] ?? input).focus();
  const move = (from: number, to: number) => {
    if (to < 0 || to >= items.length || from === to) return;
    const [item] = items.splice(from, 1);
    items.splice(to, 0, item!);
    render();
    store();
    focus(to);
    status.textContent = text("{name}: position {number} of {count}", { name: nameOf(item!), number: to + 1, count: items.length });
  };
  const remove = (at: number) => {
    items.splice(at, 1);
    render();
    store();
    focus(at);
  };
  const add = () => {
    const entries = input.value.split(/[,\n]/).map((entry) => entry.trim()).filter(Boolean);
    items.push(...entries.filter((entry, at) => !items.includes(entry) && entries.indexOf(entry) === at));
    input.value = "";
    render();
    store();
  };
  const onKey = (event: KeyboardEvent, at: number) => {
    const step = { ArrowUp: -1, ArrowLeft: document.dir === "rtl" ? 1 : -1, ArrowDown: 1, ArrowRight: document.dir === "rtl" ? -1 : 1 }[event.key];
    if (step !== undefined) {
      if (event.altKey) move(at, at + step);
      else if (at + step >= items.length) input.focus();
      else focus(Math.max(0, at + step));
    } else if (event.key === "Delete" || event.key === "Backspace") remove(at);
    else return;
    event.preventDefault();
  };
  const chip = (item: string, at: number) => {
    const isUnknown = entries?.isUnknown(item) ?? false;
    const description = isUnknown ? [text("No entry has this value."), text("Alt and arrow keys move, Delete removes")].join(" ") : text("Alt and arrow keys move, Delete removes");
    const name = nameOf(item);
    const label = create("span", { class: "chip__text", tabindex: "0", role: "button", "aria-label": name, "aria-description": description, title: name === item ? undefined : item }, create("bdi", {}, name));
    if (isUnknown) label.prepend(icon("alert-triangle"));
    label.addEventListener("keydown", (event) => onKey(event, at));
    const button = create("button", { class: "chip__remove", type: "button", tabindex: "-1", "aria-label": text("Remove {name}", { name }), click: () => remove(at) }, icon("x"));
    const element = create("li", { class: isUnknown ? "chip chip--unknown" : "chip", draggable: "true" }, label, button);
    element.addEventListener("dragstart", (event) => {
      dragged = at;
      event.dataTransfer?.setData("text/plain", item);
    });
    element.addEventListener("dragover", (event) => {
      if (dragged >= 0) event.preventDefault();
    });
    element.addEventListener("drop", (event) => {
      if (dragged < 0) return;
      event.preventDefault();
      move(dragged, at);
    });
    element.addEventListener("dragend", () => (dragged = -1));
    return element;
  };
  const render = () => list.replaceChildren(...items.map(chip));

  if (entries) {
    const choose = (value: string) => {
      items.push(value);
      input.value = "";
      render();
      store();
    };
    box.classList.add("relation");
    box.append(entries.addSearch(input, (value) => !items.includes(value), choose));
  }
  input.addEventListener("input", (event) => {
    event.stopPropagation();
    if (entries) return;
    const isChosen = !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
    if (isChosen || /[,\n]/.test(input.value)) add();
    else store();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      if (input.value.trim() && !entries) add();
    } else if ((event.key === "Backspace" || event.key === "ArrowLeft") && !input.value && items.length) {
      event.preventDefault();
      focus(items.length - 1);
    }
  });
  input.addEventListener("paste", (event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (entries || !pasted.includes("\n")) return;
    event.preventDefault();
    input.value += pasted;
    add();
  });
  onLeave(input, () => {
    if (entries) input.value = "";
    else if (input.value.trim()) add();
  });
  area.addEventListener("chip-add", (event) => {
    items.push((event as CustomEvent<string>).detail);
    render();
    store();
  });
  box.addEventListener("click", (event) => event.target === box && input.focus());
  render();
}
