// Finds and removes the marks of a page in steps of bounded size, and records which elements have which numbers.
import { isReference, Names } from "./ids.ts";
import { cleanText, mayHaveMarks, type NumberRange } from "./marks.ts";

/** The nodes of the first step, and of a long one: after each step the browser computes the layout of the whole page. */
const FIRST_STEP = 2_000;
const LONG_STEP = 16_000;
/** React connects an island after Astro has removed its attribute. */
const HYDRATION_MS = 300;
const SHOWN_ATTRIBUTES = new Set(["alt", "aria-label", "placeholder", "label", "title"]);
/** Attributes that work differently with a mark. */
const BREAKING = new Set(["class", "src", "srcset", "style"]);
/** Attributes that stay as they are: code, other documents, and what another host checks. */
const UNTOUCHED = /^(?:on.*|srcdoc|integrity|nonce)$/;
const OBSERVED = [
  ...["alt", "aria-controls", "aria-describedby", "aria-description", "aria-label", "aria-labelledby", "content", "for", "href"],
  ...["id", "label", "list", "name", "placeholder", "popovertarget", "src", "srcset", "ssr", "title", "value"],
];
/** A part of a page that is not hydrated. Its marks are removed when Astro removes the attribute. */
export const ISLAND = "astro-island[ssr]";

/** The function of the browser. A page can replace it by one that renders after each call. */
export const later = window.setTimeout.bind(window);

export class Sweep {
  /** Numbers of each text and of the attributes of each element. A text keeps them if a script moves it. */
  private readonly numbers = new WeakMap<Node, readonly number[]>();
  private readonly marked = new WeakSet<Element>();
  private readonly elements = new Map<number, WeakRef<Element>[]>();
  /** Numbers of each text and its element, for the copies that scripts make later. Texts with different numbers have none. */
  private readonly copied = new Map<string, readonly number[]>();
  private readonly unread: Node[] = [];
  private readonly observer: MutationObserver;
  private readonly names: Names;
  private readonly onChange: () => void;
  private readonly range: NumberRange;
  private readonly breaking = new Set<number>();
  private readonly unseen = new Set<number>();
  private isScheduled = false;
  private size = FIRST_STEP;
  private isRead = false;
  private onEnd: (() => void) | null = null;

  constructor(range: NumberRange, onChange: () => void) {
    this.range = range;
    this.onChange = onChange;
    this.names = new Names(range, (name) => document.getElementById(name) !== null);
    this.observer = new MutationObserver((records) => this.queue(records));
  }

  /** Read the page, call `onEnd`, and read from now on everything that changes. */
  start(onEnd: () => void): void {
    this.onEnd = onEnd;
    this.observe(document);
    this.unread.push(document.documentElement);
    this.step();
  }

  /** Read the page again with the numbers that its preview gave out since it was loaded. */
  extend(last: number): void {
    if (!(last > this.range.last)) return;
    this.range.last = last;
    if (this.isRead) this.add(document.documentElement);
  }

  /** Return the numbers of the texts of an element, without those of the elements in it, and of its attributes. */
  numbersOf(element: Element): readonly number[] {
    if (!this.marked.has(element)) return [];
    const numbers = new Set<number>();
    const texts = [...(element.shadowRoot?.childNodes ?? []), ...element.childNodes];
    for (const node of [...texts.filter(({ nodeType }) => nodeType === Node.TEXT_NODE), element]) {
      for (const number of this.numbers.get(node) ?? []) if (numbers.size < MAX_NUMBERS) numbers.add(number);
    }
    return [...numbers];
  }

  /** Return the elements with a number that are on the page. */
  elementsOf(number: number): Element[] {
    const found = (this.elements.get(number) ?? []).map((each) => each.deref()).filter((each) => each !== undefined && each.isConnected && this.numbersOf(each).includes(number)) as Element[];
    return [...new Set(found)];
  }

  /** Return numbers that stand where a mark breaks something, or that are in no text of the page. */
  misplaced(): number[] {
    return [...this.breaking, ...[...this.unseen].filter((number) => !this.elementsOf(number).length)];
  }

  /** Return the fragment of an address without marks, and the element that it names if the name had a mark. */
  target(fragment: string): { fragment: string; element: Element | null } {
    const restored = this.names.restoreFragment(fragment);
    const name = decoded(restored);
    return { fragment: restored, element: this.names.isRestored(name) ? document.getElementById(name) : null };
  }

  /** Return a text without marks. */
  clean(text: string): string {
    return cleanText(text, this.range).text;
  }

  private observe(root: Node): void {
    this.observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: OBSERVED });
  }

  private queue(records: MutationRecord[]): void {
    let hasRemoved = false;
    for (const { type, target, addedNodes, removedNodes, attributeName } of records) {
      if (type === "childList") for (let index = addedNodes.length; index--; ) this.unread.push(addedNodes[index]!);
      else if (type === "characterData") {
        if (mayHaveMarks((target as CharacterData).data)) this.unread.push(target);
      }
      else if (attributeName === "ssr") later(() => this.add(target), HYDRATION_MS);
      else this.readAttribute(target as Element, attributeName!);
      hasRemoved ||= removedNodes.length > 0;
    }
    if (hasRemoved) this.onChange();
    if (this.unread.length) this.schedule();
  }

  private add(node: Node): void {
    this.unread.push(node);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    later(() => {
      this.isScheduled = false;
      this.step();
    });
  }

  /** Read nodes in the order of the document: the next is at the end of `unread`. */
  private step(): void {
    for (let count = 0; count < this.size; count++) {
      const node = this.unread.pop();
      if (!node) return this.end();
      if (node.isConnected) this.read(node);
    }
    this.size = Math.min(2 * this.size, LONG_STEP);
    this.schedule();
  }

  private end(): void {
    this.size = FIRST_STEP;
    this.isRead = true;
    const { onEnd } = this;
    this.onEnd = null;
    onEnd?.();
  }

  private read(node: Node): void {
    // The nodes of another document have other classes.
    if (node.nodeType === Node.TEXT_NODE) return this.readText(node as Text);
    if (node.nodeType === Node.ELEMENT_NODE) this.readElement(node as Element);
    else if (node instanceof ShadowRoot) this.readChildren(node);
  }

  private readElement(element: Element): void {
    if (element.matches(ISLAND)) return;
    for (const name of element.getAttributeNames()) this.readAttribute(element, name);
    if (element instanceof HTMLInputElement && mayHaveMarks(element.value)) this.readValue(element);
    if (element.localName === "script" || element.localName === "style") return this.readCode(element);
    this.readChildren(element);
    if (element.shadowRoot) this.readShadow(element.shadowRoot);
    else if (element.localName.includes("-")) this.awaitShadow(element);
  }

  private readChildren(parent: Node): void {
    for (let child = parent.lastChild; child; child = child.previousSibling) this.unread.push(child);
  }

  private readShadow(root: ShadowRoot): void {
    this.observe(root);
    this.add(root);
  }

  private readText(node: Text): void {
    const hasMarks = mayHaveMarks(node.data);
    const known = this.numbers.get(node);
    if (!hasMarks && !known && (!this.isRead || !node.data.trim())) return;
    const element = node.parentElement ?? (node.getRootNode() as Partial<ShadowRoot>).host;
    if (element && !hasMarks) return this.recordAgain(element, node, known ?? this.copied.get(keyOf(element, node.data)));
    if (!element || element.closest(`script, style, ${ISLAND}`)) return;
    const { text, numbers } = cleanText(node.data, this.range);
    if (!numbers.length) return;
    node.data = text;
    if (element.localName === "title" || element.localName === "textarea") return this.report(this.unseen, numbers);
    this.remember(element, text, numbers);
    this.record(element, node, numbers);
  }

  private readAttribute(element: Element, name: string): void {
    const value = element.getAttribute(name);
    if (value === null || UNTOUCHED.test(name)) return;
    if (!mayHaveMarks(value)) return this.isRead && SHOWN_ATTRIBUTES.has(name) && !this.numbers.has(element) ? this.recordAgain(element, element, this.copied.get(keyOf(element, value))) : undefined;
    if (element.closest(ISLAND)) return;
    const { text, numbers } = cleanText(value, this.range);
    if (!numbers.length) return;
    if (isReference(name)) return element.setAttribute(name, this.names.restoreAll(value));
    if (name === "href" || name === "xlink:href") return this.readLink(element, name, value, numbers);
    if (BREAKING.has(name)) this.report(this.breaking, numbers);
    else if (name === "value") this.report(this.unseen, numbers);
    else if (SHOWN_ATTRIBUTES.has(name)) {
      this.remember(element, text, numbers);
      this.record(element, element, [...(this.numbers.get(element) ?? []), ...numbers]);
    }
    // A policy of the site can forbid the attribute, but not the property.
    if (name === "style") (element as HTMLElement).style.cssText = text;
    else element.setAttribute(name, text);
  }

  /** Clean a link. The path of a page of this site stays, because the generator wrote the page there. */
  private readLink(element: Element, name: string, value: string, numbers: readonly number[]): void {
    const [address = "", fragment] = split(value, "#");
    if (mayHaveMarks(address)) this.report(this.breaking, numbers);
    const isHere = !address || (element instanceof HTMLAnchorElement && element.origin === location.origin && element.pathname === location.pathname);
    const isPage = element instanceof HTMLAnchorElement && element.origin === location.origin;
    const [path = "", query] = split(address, "?");
    const shown = (isPage ? path : this.clean(path)) + (query === undefined ? "" : `?${this.clean(query)}`);
    const target = fragment === undefined ? "" : `#${isHere ? this.names.restoreFragment(fragment) : this.clean(fragment)}`;
    if (shown + target !== value) element.setAttribute(name, shown + target);
  }

  private readValue(input: HTMLInputElement): void {
    const { text, numbers } = cleanText(input.value, this.range);
    this.report(this.unseen, numbers);
    if (numbers.length) input.value = text;
  }

  /** Report marks in code. The data of a page that hydrates contains all its texts, and is no code. */
  private readCode(element: Element): void {
    const { type = "" } = element as HTMLScriptElement;
    const text = element.textContent ?? "";
    if (!mayHaveMarks(text) || /json|template|^text\/(?!javascript|css)/.test(type) || hydrates()) return;
    this.report(element.localName === "style" ? this.breaking : this.unseen, cleanText(text, this.range).numbers);
  }

  /** Read the open shadow of a component that is defined later. */
  private awaitShadow(element: Element): void {
    if (customElements.get(element.localName)) return;
    const reference = new WeakRef(element);
    void customElements.whenDefined(element.localName).then(() => {
      const root = reference.deref()?.shadowRoot;
      if (root) this.readShadow(root);
    }, () => undefined);
  }

  private remember(element: Element, text: string, numbers: readonly number[]): void {
    const key = keyOf(element, text);
    const known = this.copied.get(key);
    this.copied.set(key, known && String(known) !== String(numbers) ? [] : numbers);
  }

  /** Record the numbers of a text without marks that a script moved or copied. */
  private recordAgain(element: Element, node: Node, numbers: readonly number[] | undefined): void {
    if (numbers?.length) this.record(element, node, numbers);
  }

  /** Record the numbers of a text of an element, or of its attributes. */
  private record(element: Element, node: Node, numbers: readonly number[]): void {
    const distinct = [...new Set(numbers)].slice(-MAX_NUMBERS);
    this.numbers.set(node, distinct);
    this.marked.add(element);
    for (const number of distinct) {
      const elements = (this.elements.get(number) ?? []).filter((each) => each.deref()?.isConnected && each.deref() !== element);
      this.elements.set(number, [...elements.slice(-MAX_ELEMENTS), new WeakRef(element)]);
    }
    this.onChange();
  }

  private report(list: Set<number>, numbers: readonly number[]): void {
    for (const number of numbers) list.add(number);
    this.onChange();
  }
}

/** Return what a text and its copy have in common. */
function keyOf(element: Element, text: string): string {
  return `${element.localName} ${element.getAttribute("class") ?? ""}\n${text}`;
}

const MAX_NUMBERS = 50;
/** A number that is in more elements of a page is found in the last of them. */
const MAX_ELEMENTS = 20;

/** The roots of frameworks that write their own nodes over those of the page. */
const ROOTS = "#__next, #__nuxt, #___gatsby, #__docusaurus, [data-reactroot], [data-server-rendered], astro-island, script[type=module], script[src*='/_next/']";

/** Return whether a script of the page compares its nodes with texts that contain marks. */
export function hydrates(): boolean {
  return document.querySelector(ROOTS) !== null;
}

function split(text: string, mark: string): [string, string?] {
  const position = text.indexOf(mark);
  return position < 0 ? [text] : [text.slice(0, position), text.slice(position + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
