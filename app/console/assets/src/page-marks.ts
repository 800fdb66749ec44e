// Script in the pages of an editable preview. It removes the marks of the page, and sends the numbers of the element that a
// person clicks to the console around it. It reads nothing from the console but the mode and numbers.
import { type Area, areaOf, Outlines } from "./page/outlines.ts";
import { hydrates, later, Sweep } from "./page/sweep.ts";

const MAX_TEXT = 2_000;
const MAX_NUMBERS = 2_000;
const REPORT_MS = 300;
const QUIET_MS = 100;
const MAX_WAIT_MS = 3_000;
const CONTROLS = "button, input, select, textarea, summary, label, option, audio, video, [role=button], [role=tab], [role=menuitem], [role=switch], [contenteditable]";
const MENUS = "button, summary, [role=button], [role=tab], [role=menuitem], [aria-haspopup], [aria-expanded]";
/** Attributes with which a template names the source of a text that it changes. */
const [FILE, FIELD] = ["data-galley-file", "data-galley-field"];
const TEXTS = "h1, h2, h3, h4, h5, h6, p, pre, li, dt, dd, td, th, blockquote, figcaption";
const TYPED = "input, select, textarea, [contenteditable]";

interface Source {
  file: string;
  field: string;
}
type Message =
  | { type: "page"; url: string; title: string; main: number[]; numbers: number[]; misplaced: number[] }
  | { type: "select"; numbers: number[]; rect: Area; text: string; kind: "text" | "image" | "alt"; href: string | null; source: Source | null }
  | { type: "move"; rect: Area | null }
  | { type: "leave" };
type Command = { type?: unknown; edit?: unknown; number?: unknown; last?: unknown };

class MarkedPage {
  private readonly origin: string;
  private readonly sweep: Sweep;
  private readonly outlines: Outlines;
  private port: MessagePort | null = null;
  private isEditing = true;
  private isSwept = false;
  private isRepeating = false;
  private reported = "";
  private moved = "";
  private timer = 0;
  private selected: number | null = null;
  private focused: Element | null = null;

  constructor(origin: string, first: number, last: number) {
    this.origin = origin;
    this.sweep = new Sweep({ first, last }, () => this.planReport());
    this.outlines = new Outlines(() => this.sendMove());
  }

  start(): void {
    document.addEventListener("copy", guarded((event: ClipboardEvent) => this.cleanCopy(event)));
    addEventListener("message", guarded((event: MessageEvent) => this.connect(event)), true);
    addEventListener("pageshow", guarded((event: PageTransitionEvent) => event.persisted && this.announce()));
    afterHydration(guarded(() => this.sweep.start(guarded(() => {
      this.isSwept = true;
      this.restoreTarget();
      this.planReport();
    }))));
    this.announce();
  }

  /** Send the first message if the console is the page around this one. */
  private announce(): void {
    const isFramed = parent !== window && parent === top;
    if (isFramed && (location.ancestorOrigins?.[0] ?? this.origin) === this.origin) parent.postMessage({ galley: "page" }, this.origin);
  }

  private connect(event: MessageEvent): void {
    if (event.source !== parent || event.origin !== this.origin || event.data?.galley !== "connect" || !event.ports[0]) return;
    event.stopImmediatePropagation();
    const isFirst = this.port === null;
    this.port?.close();
    this.port = event.ports[0];
    this.port.onmessage = guarded(({ data }: MessageEvent) => this.obey(data));
    this.reported = "";
    if (isFirst) this.listen();
    this.planReport();
  }

  private obey(command: Command | null): void {
    if (command?.type === "mode") this.isEditing = command.edit === true;
    if (command?.type === "mode" && !this.isEditing) this.unmark();
    if (command?.type === "clear") this.select(null, null);
    if (command?.type === "range" && typeof command.last === "number") this.sweep.extend(command.last);
    if (command?.type === "select" && typeof command.number === "number") {
      const element = this.shownElement(command.number);
      element?.scrollIntoView({ block: "center" });
      this.select(command.number, element);
      this.sendMove();
    }
  }

  private shownElement(number: number): Element | null {
    const elements = this.sweep.elementsOf(number);
    return elements.find(isShown) ?? elements[0] ?? null;
  }

  private select(number: number | null, element: Element | null, rect?: Area): void {
    this.selected = number;
    this.moved = JSON.stringify(rect) ?? "";
    this.outlines.show("selected", element);
  }

  private unmark(): void {
    this.outlines.show("pointer", null);
    this.outlines.show("focus", null);
  }

  private send(message: Message): void {
    this.port?.postMessage(message);
  }

  private listen(): void {
    const options = { capture: true };
    addEventListener("click", guarded((event: MouseEvent) => this.click(event)), options);
    for (const name of ["pointerdown", "mousedown"] as const) addEventListener(name, guarded((event: MouseEvent) => this.press(event)), options);
    addEventListener("keydown", guarded((event: KeyboardEvent) => this.key(event)), options);
    addEventListener("focusin", guarded((event: FocusEvent) => this.focus(event)), options);
    addEventListener("focusout", guarded(() => this.blur()), options);
    addEventListener("pointermove", guarded((event: PointerEvent) => this.point(event)), { capture: true, passive: true });
    document.documentElement.addEventListener("pointerleave", guarded(() => this.outlines.show("pointer", null)));
    for (const name of ["hashchange", "popstate"]) addEventListener(name, guarded(() => this.planReport()));
  }

  /** Return the elements around the target of an event, nearest first, and the first of them with marks. */
  private around(event: Event): { path: Element[]; marked: Element | null } {
    const path = event.composedPath().filter((each): each is Element => each instanceof Element);
    const named = path.find((element) => element.hasAttribute(FIELD));
    const marked = named ?? path.find((element) => this.sweep.numbersOf(element).length) ?? null;
    const inner = marked ? path.slice(0, path.indexOf(marked)) : [];
    // A control in a marked element has no mark: it acts. The text of a container is not that of the paragraphs in it.
    const hasOther = inner.some((element) => element.matches(CONTROLS)) || (!named && !marked?.matches(TEXTS) && inner.some((element) => element.matches(TEXTS)));
    return { path, marked: hasOther ? null : marked };
  }

  private click(event: MouseEvent): void {
    if (!this.isEditing || this.isRepeating) return;
    const { path, marked } = this.around(event);
    if (event.altKey) return this.repeat(event, path[0]);
    if (!path[0] || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.detail === 1 && selectsText(marked ?? path[0])) return;
    if (!marked) return this.sendUnmarked(path);
    stop(event);
    this.sendSelection(path, marked);
  }

  /** Click without the key, with which browsers save the target of a link. */
  private repeat(event: MouseEvent, target: Element | undefined): void {
    if (!target) return;
    stop(event);
    this.isRepeating = true;
    target.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true, view: window, clientX: event.clientX, clientY: event.clientY }));
    this.isRepeating = false;
  }

  /** Menus can open before the click. */
  private press(event: MouseEvent): void {
    const { path, marked } = this.around(event);
    if (this.isEditing && !event.altKey && !event.button && marked && path.some((element) => element.matches(MENUS))) event.stopImmediatePropagation();
  }

  private point(event: PointerEvent): void {
    const isActive = this.isEditing && !event.altKey && event.pointerType !== "touch";
    this.outlines.show("pointer", isActive ? this.around(event).marked : null);
  }

  private sendSelection(path: readonly Element[], marked: Element): void {
    const numbers = [...new Set(path.flatMap((element) => this.sweep.numbersOf(element)))];
    const link = path.find((element) => element instanceof HTMLAnchorElement) as HTMLAnchorElement | undefined;
    const kind = path[0]?.localName === "img" ? "image" : this.isTextOf(marked) ? "text" : "alt";
    const [rect, source] = [areaOf(marked), sourceOf(marked)];
    this.select((source ? null : numbers[0]) ?? null, marked, rect);
    this.send({ type: "select", numbers: numbers.slice(0, 50), rect, text: this.textOf(marked), kind, href: link?.href || null, source });
  }

  private canEdit(element: Element): boolean {
    return element.hasAttribute(FIELD) || this.sweep.numbersOf(element).length > 0;
  }

  /** Send that a text without marks was clicked. Links and controls act. */
  private sendUnmarked(path: readonly Element[]): void {
    const hasText = [...path[0]!.childNodes].some((node) => node instanceof Text && node.data.trim());
    if (!hasText || path.some((element) => element.matches(`a[href], ${CONTROLS}`))) return;
    this.send({ type: "select", numbers: [], rect: areaOf(path[0]!), text: "", kind: "text", href: null, source: null });
  }

  private isTextOf(element: Element): boolean {
    return Boolean(element.textContent?.trim()) || element.shadowRoot !== null;
  }

  private textOf(element: Element): string {
    const text = element.textContent || element.getAttribute("alt") || element.getAttribute("aria-label") || element.getAttribute("placeholder") || "";
    return this.sweep.clean(text.slice(0, 2 * MAX_TEXT)).trim().slice(0, MAX_TEXT);
  }

  private sendMove(): void {
    const target = this.outlines.target("selected");
    if (this.selected === null && !target) return;
    const element = target?.isConnected ? target : this.selected === null ? null : this.shownElement(this.selected);
    if (element !== target && element) this.outlines.show("selected", element);
    const rect = element ? areaOf(element) : null;
    const moved = JSON.stringify(rect);
    if (moved === this.moved) return;
    this.moved = moved;
    this.send({ type: "move", rect });
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const active = document.activeElement;
    const isTyped = active?.matches(TYPED) ?? false;
    if (event.key === "Escape" && !event.defaultPrevented) this.send({ type: "leave" });
    if (!this.isEditing || isTyped) return;
    if (event.key === "Tab") this.moveFocus(event);
    if (event.key === "Enter" && active && this.canEdit(active)) {
      stop(event);
      this.sendSelection(ancestors(active), active);
    }
  }

  /** Focus the next marked element, unless the browser focuses a control before it. */
  private moveFocus(event: KeyboardEvent): void {
    const step = event.shiftKey ? "previousNode" : "nextNode";
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT);
    if (document.activeElement && document.body.contains(document.activeElement)) walker.currentNode = document.activeElement;
    else if (event.shiftKey) return;
    for (let node = walker[step]() as Element | null; node; node = walker[step]() as Element | null) {
      if (!(node instanceof HTMLElement || node instanceof SVGElement)) continue;
      const isMarked = this.canEdit(node);
      if ((!isMarked && node.tabIndex < 0) || !isShown(node)) continue;
      if (node.tabIndex >= 0) return;
      stop(event);
      const isFocusable = node.hasAttribute("tabindex");
      if (!isFocusable) node.setAttribute("tabindex", "-1");
      node.focus(); // The element that had the focus becomes as it was.
      this.focused = isFocusable ? null : node;
      return;
    }
  }

  private focus(event: FocusEvent): void {
    const element = event.target;
    if (!this.isEditing || !(element instanceof Element)) return;
    this.outlines.show("focus", this.canEdit(element) ? element : null);
  }

  private blur(): void {
    const focused = this.focused;
    this.outlines.show("focus", null);
    if (!focused || document.activeElement === focused) return;
    focused.removeAttribute("tabindex");
    this.focused = null;
  }

  private planReport(): void {
    if (this.timer || !this.port || !this.isSwept) return;
    this.timer = later(guarded(() => {
      this.timer = 0;
      this.report();
    }), REPORT_MS);
  }

  private report(): void {
    const heading = document.querySelector("main h1, article h1, [role=main] h1") ?? document.querySelector("h1");
    const url = location.pathname + location.search + location.hash;
    const main = heading ? this.numbersIn(heading) : [];
    const message: Message = { type: "page", url: this.sweep.clean(url), title: this.sweep.clean(document.title), main, numbers: this.numbersIn(document.body ?? document.documentElement), misplaced: this.sweep.misplaced().slice(0, MAX_NUMBERS) };
    this.sendMove();
    const text = JSON.stringify(message);
    if (text !== this.reported) this.send(message);
    this.reported = text;
  }

  /** Return the numbers in a part of the page, in the order of the document. */
  private numbersIn(root: Element): number[] {
    const numbers = new Set<number>();
    const walkers = [document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT)];
    for (let walker = walkers.at(-1); walker && numbers.size < MAX_NUMBERS; walker = walkers.at(-1)) {
      const node = walker.currentNode as Element | ShadowRoot;
      if (node instanceof Element) for (const number of this.sweep.numbersOf(node)) numbers.add(number);
      if (!walker.nextNode()) walkers.pop();
      if (node instanceof Element && node.shadowRoot) walkers.push(document.createTreeWalker(node.shadowRoot, NodeFilter.SHOW_ELEMENT));
    }
    return [...numbers].slice(0, MAX_NUMBERS);
  }

  /** Scroll to the element that the address names, if its name contained a mark when the page was loaded. */
  private restoreTarget(): void {
    const hash = location.hash.slice(1);
    if (!hash) return;
    const { fragment, element } = this.sweep.target(hash);
    if (fragment !== hash) history.replaceState(history.state, "", `#${fragment}`);
    element?.scrollIntoView();
  }

  private cleanCopy(event: ClipboardEvent): void {
    const selection = getSelection();
    const data = event.clipboardData;
    if (!data || !selection) return;
    const field = document.activeElement;
    const isField = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.selectionStart !== null);
    const text = isField ? field.value.slice(field.selectionStart ?? 0, field.selectionEnd ?? 0) : selection.toString();
    if (event.defaultPrevented) {
      for (const type of [...data.types].filter((each) => each.startsWith("text/"))) data.setData(type, this.sweep.clean(data.getData(type)));
      return;
    }
    if (this.sweep.clean(text) === text) return;
    data.setData("text/plain", this.sweep.clean(text));
    if (!isField && selection.rangeCount) {
      const holder = document.implementation.createHTMLDocument("").createElement("div");
      holder.append(selection.getRangeAt(0).cloneContents());
      data.setData("text/html", this.sweep.clean(holder.innerHTML));
    }
    event.preventDefault();
  }
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Return the source that the attributes of an element and of one around it name. Without a file it is that of the page. */
function sourceOf(element: Element): Source | null {
  const field = element.getAttribute(FIELD);
  return field === null ? null : { file: element.closest(`[${FILE}]`)?.getAttribute(FILE) ?? "", field };
}

function selectsText(element: Element): boolean {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.containsNode(element, true));
}

function isShown(element: Element): boolean {
  return element.checkVisibility?.({ visibilityProperty: true }) ?? element.getClientRects().length > 0;
}

function ancestors(element: Element): Element[] {
  const parentElement = element.parentElement;
  return parentElement ? [element, ...ancestors(parentElement)] : [element];
}

/** Return a function that does not disturb the page if it fails. */
function guarded<Arguments extends unknown[]>(run: (...given: Arguments) => unknown): (...given: Arguments) => void {
  return (...given) => {
    try {
      run(...given);
    } catch {
      // The page works without this.
    }
  };
}

/** Call `run` when the scripts of the page have compared its nodes with their texts, at once if none does. */
function afterHydration(run: () => void): void {
  if (document.readyState === "loading") return document.addEventListener("DOMContentLoaded", () => afterHydration(run), { once: true });
  if (!hydrates()) return run();
  if (document.readyState !== "complete") return addEventListener("load", () => afterHydration(run), { once: true });
  const started = performance.now();
  let quiet = started;
  const observer = new MutationObserver(() => {
    quiet = performance.now();
  });
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - started < MAX_WAIT_MS && (now - quiet < QUIET_MS || !isHydrated())) return;
    clearInterval(timer);
    observer.disconnect();
    run();
  }, QUIET_MS / 2);
}

/** Return whether the roots of React and Vue on this page are connected with their components. */
function isHydrated(): boolean {
  const react: ParentNode[] = [...document.querySelectorAll("#__next, #___gatsby, #__docusaurus")];
  const hasDocumentRoot = "__remixContext" in window || "__reactRouterContext" in window || document.querySelector("script[src*='/_next/']") !== null;
  if (!react.length && hasDocumentRoot) react.push(document);
  const vue = [...document.querySelectorAll("__VP_HASH_MAP__" in window ? "#app" : "#__nuxt")];
  return react.every(({ firstElementChild }) => !firstElementChild || Object.keys(firstElementChild).some((key) => /^__react(?:Fiber|InternalInstance)/.test(key))) && vue.every((root) => "__vue_app__" in root);
}

guarded(() => {
  const script = document.currentScript;
  const { console: origin, first, last } = script?.dataset ?? {};
  script?.remove();
  if (origin && first && last) new MarkedPage(origin, Number(first), Number(last)).start();
})();
