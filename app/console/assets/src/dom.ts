// Small helpers for elements.

type Properties = Record<string, string | boolean | EventListener | undefined>;

/** Create an element. A function is added as a listener, `true` sets an empty attribute. */
export function create<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Return an icon of the sprite. The page names the sprite in `<meta name="console-icons">`. */
export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  const sprite = document.querySelector<HTMLMetaElement>('meta[name="console-icons"]')?.content ?? "";
  use.setAttribute("href", `${sprite}#${name}`);
  svg.append(use);
  return svg;
}

/** Make a toolbar one stop of the Tab key. The arrow keys, Home and End move inside. Returns a function that follows its state. */
export function initToolbar(bar: HTMLElement): () => void {
  const enabled = () => [...bar.querySelectorAll<HTMLButtonElement | HTMLSelectElement>("button, select")].filter((one) => !one.disabled);
  const update = () => {
    const controls = enabled();
    const current = controls.find((one) => one === document.activeElement) ?? controls[0];
    for (const one of controls) one.tabIndex = one === current ? 0 : -1;
  };
  for (const type of ["focusin", "focusout"]) bar.addEventListener(type, update);
  bar.addEventListener("keydown", (event) => {
    const controls = enabled();
    const at = controls.findIndex((one) => one === document.activeElement);
    const forward = document.dir === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + forward, ArrowLeft: at - forward, Home: 0, End: -1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    controls.at(to % controls.length)!.focus();
  });
  return update;
}

/** Return the texts of a form as the body of a request. */
export function formBody(form: HTMLFormElement, submitter?: HTMLElement | null): URLSearchParams {
  return new URLSearchParams([...new FormData(form, submitter)].filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

/** Return a URL of the page with more parameters. */
export function withQuery(url: string, parameters: URLSearchParams): string {
  return `${url}${url.includes("?") ? "&" : "?"}${parameters}`;
}

/** Show a modal dialog until it closes, and return its value. It removes itself. */
export function show(dialog: HTMLDialogElement): Promise<string> {
  const focused = document.activeElement as HTMLElement | null;
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      focused?.focus();
      resolve(dialog.returnValue);
    });
  });
}

let dialogs = 0;

/** Create a dialog with a title and buttons: pairs of value and label. The last button is the primary one. */
export function createDialog(title: string, content: Node[], buttons: [string, string][]): HTMLDialogElement {
  const id = `dialog-${++dialogs}`;
  const actions = buttons.map(([value, label], index) =>
    create("button", { class: `button${index === buttons.length - 1 ? " button--primary" : ""}`, value, formnovalidate: value === "" }, label),
  );
  const form = create("form", { method: "dialog", class: "form" }, ...content, create("div", { class: "dialog__actions" }, ...actions));
  return create("dialog", { class: "dialog", "aria-labelledby": id }, create("h2", { class: "dialog__title", id }, title), form);
}

/** Show a short message that disappears. */
export function toast(...content: (Node | string)[]): void {
  document.querySelector(".toast")?.remove();
  const element = create("div", { class: "toast", role: "status" }, ...content);
  document.body.append(element);
  dismissLater(element);
}

/** Remove a message after some seconds, unless the user reads it with the pointer or the keyboard. */
export function dismissLater(element: HTMLElement): void {
  const timer = setInterval(() => {
    if (element.matches(":hover, :focus-within")) return;
    element.remove();
    clearInterval(timer);
  }, 6000);
}

let isPressed = false;
document.addEventListener("mousedown", () => (isPressed = true), true);
for (const name of ["mouseup", "dragend"]) document.addEventListener(name, () => (isPressed = false), true);

/** Call a function when an input loses the focus. If a press takes it, the call follows the click, so that its target does not move. */
export function onLeave(input: HTMLElement, leave: () => void): void {
  input.addEventListener("blur", () => {
    if (!isPressed) return leave();
    const released = new AbortController();
    const { signal } = released;
    for (const name of ["mouseup", "dragend"]) {
      document.addEventListener(name, () => (released.abort(), setTimeout(leave)), { capture: true, signal });
    }
  });
}
