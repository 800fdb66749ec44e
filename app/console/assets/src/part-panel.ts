// The panel over the page: the form of a file, of which only the field or the block of a source mark is visible.
import { formBody } from "./dom.ts";
import { DraftStore, request } from "./draft-store.ts";
import { initFields } from "./fields.ts";
import { type BlockEditor, fieldOf, isSame, loadForm, showOnly, textOf } from "./form-part.ts";
import type { MarkedText } from "./marked-texts.ts";
import { onlyBlock } from "./only-block.ts";
import type { Rect } from "./page-channel.ts";
import { PanelGuard } from "./panel-guard.ts";
import { text } from "./texts.ts";
import { initTitle } from "./title-line.ts";

/** The text of a form before a change, and the addresses that store it and show it in the preview. */
export interface FormerText {
  path: string;
  before: URLSearchParams;
  draftUrl: string;
  textUrl: string;
}

/** What the page does for the panel. */
export interface Visit {
  typed(shown: MarkedText): void;
  changed(former: FormerText): void;
  canceled(): void;
  left(): void;
  written(): void;
  ended(): void;
  has(path: string): boolean;
  chosen(shown: MarkedText): void;
  outdated(): void;
  say(message: string): void;
}

const DRAFT_DELAY_MS = 2000;
const PREVIEW_DELAY_MS = 200;
const GAP = 8;
const NARROW = matchMedia("(width <= 600px)");

export class PartPanel {
  shown: MarkedText | null = null;
  private readonly panel: HTMLElement;
  private readonly frame: HTMLElement;
  private readonly visit: Visit;
  private form: HTMLFormElement | null = null;
  private drafts: DraftStore | null = null;
  private before = new URLSearchParams();
  private start = "";
  private sent = "";
  private timer = 0;
  private sending = Promise.resolve();
  private closing: Promise<void> | null = null;
  private readonly guard: PanelGuard;

  constructor(panel: HTMLElement, frame: HTMLElement, visit: Visit) {
    [this.panel, this.frame, this.visit] = [panel, frame, visit];
    this.element("done").addEventListener("click", () => void this.finish());
    this.element("draft").addEventListener("click", () => void this.refresh());
    this.element("cancel").addEventListener("click", () => void this.cancel());
    this.guard = new PanelGuard(panel);
    // The formatted editor prevents the default of Escape, and an open menu or list closes itself.
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || document.activeElement?.closest("details.menu[open], [aria-expanded=true]")) return;
      event.preventDefault();
      void this.cancel();
    });
    window.addEventListener("pagehide", () => {
      this.flush();
      if (this.isChanged() && this.drafts!.isChanged()) this.drafts!.sendBeacon();
    });
  }

  get isOpen(): boolean {
    return !this.panel.hidden;
  }

  /** A click in the page takes the focus away. Without it, the page alone opens no other text. */
  private get hasFocus(): boolean {
    return this.isOpen && this.panel.contains(document.activeElement);
  }

  /** Open a text at a rectangle of the frame. If the page shows an earlier text, the preview receives the present one instead. */
  async open(shown: MarkedText, rect: Rect, pageText: string): Promise<void> {
    const form = await loadForm(shown.edit);
    const editor = form?.querySelector<BlockEditor>("galley-rich-editor");
    if (editor && shown.block !== null) {
      const { classes } = await import("./rich-editor.ts");
      editor.only = onlyBlock(classes, shown.block, pageText);
      editor.querySelector("textarea")!.autofocus = true;
    }
    this.shown = shown;
    this.element("part-name").textContent = shown.part;
    this.element("title").textContent = shown.title;
    this.element<HTMLAnchorElement>("form").href = shown.edit;
    this.show("");
    this.panel.hidden = false;
    const isUnshown = form !== null && this.isUnshown(form, shown);
    this.element("draft").hidden = !isUnshown;
    if (isUnshown) {
      this.before = formBody(form);
      this.showMessage(text("You have a draft of this page that the preview does not show."));
      this.move(rect);
      return this.focus(null);
    }
    const part = form && this.mount(form, shown);
    const isPresent = !form || !shown.blob_sha || form.dataset.version === shown.blob_sha || (part !== null && isSame(textOf(part, shown), pageText));
    if (!isPresent) return this.refresh();
    if (!part) this.showMessage(text("This text opens in the form only."));
    this.move(rect);
    this.focus(part);
  }

  private showMessage(message: string): void {
    this.form = this.drafts = null;
    this.element("body").replaceChildren();
    this.show(message);
  }

  /** Return whether a form shows a draft that the preview has not received. Only a person sends it there: scripts of the site can read it. */
  private isUnshown(form: HTMLFormElement, { path, blob_sha }: MarkedText): boolean {
    return hasDraft(form) && form.dataset.version !== blob_sha && !this.visit.has(path);
  }

  /** Write the present text into a preview that shows an earlier one. */
  private async refresh(): Promise<void> {
    const shown = this.shown!;
    if (!this.element("draft").hidden) this.visit.chosen(shown);
    this.hide();
    await request(shown.text_url, this.before);
    this.visit.outdated();
  }

  /** Close the panel, and add the draft that it shows to the visit. */
  private async finish(): Promise<void> {
    if (this.form && hasDraft(this.form)) this.visit.chosen(this.shown!);
    await this.close();
    this.visit.left();
  }

  /** Put the form into the panel, and return the element of the text, or null if the form cannot show it by itself. */
  private mount(form: HTMLFormElement, shown: MarkedText): HTMLElement | null {
    this.before = formBody(form);
    const part = shown.block === null ? fieldOf(form, shown.pointer ?? "") : form.querySelector<HTMLElement>("galley-rich-editor");
    if (part) showOnly(form, part);
    this.element("body").replaceChildren(form);
    if (!part || part.matches("[failed]") || (shown.block !== null && (part as BlockEditor).textOf(shown.block) === null)) return null;
    initTitle(form);
    initFields(form, form);
    this.form = form;
    this.drafts = new DraftStore(form, (message) => this.show(message), DRAFT_DELAY_MS);
    this.start = this.drafts.stored;
    this.sent = "";
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const type of ["input", "change"]) form.addEventListener(type, () => this.follow());
    return part;
  }

  /** Close the panel. What was typed stays as the draft. */
  close(): Promise<void> {
    return (this.closing ??= this.keep().finally(() => (this.closing = null)));
  }

  private async keep(): Promise<void> {
    const { form, drafts, shown } = this;
    if (!this.isOpen) return;
    this.flush();
    if (form && drafts && shown && this.isChanged()) {
      this.follow();
      this.visit.changed(this.former());
      await Promise.all([drafts.store(), this.send()]);
      if (drafts.isChanged()) return; // The text is not stored. The panel says so and stays.
    }
    this.hide();
  }

  /** Close the panel with the text that was there when it opened. */
  async cancel(): Promise<void> {
    this.flush();
    const former = this.form && this.isChanged() ? this.former() : null;
    this.drafts?.stop();
    clearTimeout(this.timer);
    this.hide();
    await this.sending;
    this.visit.canceled();
    this.visit.left();
    if (former) await this.restore(former);
  }

  /** Write the draft of a page into the preview. Returns its version and the address of the page in the site. */
  async showDraft(editUrl: string, textUrl: string): Promise<{ version: string; address: string }> {
    const form = await loadForm(editUrl);
    if (form) await request(textUrl, formBody(form));
    return { version: form?.dataset.version ?? "", address: form?.dataset.address ?? "" };
  }

  /** Store and show a former text. */
  async restore({ before, draftUrl, textUrl }: FormerText): Promise<void> {
    const [stored, shown] = [await request(draftUrl, before), await request(textUrl, before)];
    if (!stored?.ok) this.visit.say(text("The draft was not stored."));
    if (shown?.ok) this.visit.written();
  }

  /** Move to the text: below it, above it, or over the end of the frame. A panel below the pointer stays. */
  move(rect: Rect): void {
    const { style } = this.panel;
    if (this.guard.isPointedAt) return;
    if (NARROW.matches) return void style.removeProperty("inset");
    const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
    const { offsetWidth, offsetHeight } = this.panel;
    const below = rect.y + rect.height + GAP;
    const above = rect.y - offsetHeight - GAP;
    const top = below + offsetHeight <= height || above < 0 ? below : above;
    const left = document.dir === "rtl" ? rect.x + rect.width - offsetWidth : rect.x;
    const inset = `${clamp(top, height - offsetHeight) + this.frame.offsetTop}px auto auto ${clamp(left, width - offsetWidth) + this.frame.offsetLeft}px`;
    if (style.inset === inset) return;
    style.inset = inset;
    this.guard.moved();
  }

  private follow(): void {
    if (!this.drafts) return; // The browser sends the change of a field when it is removed.
    if (this.isChanged()) this.visit.typed(this.shown!);
    this.drafts.schedule();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.send(), PREVIEW_DELAY_MS);
  }

  /** Write the text into the preview, each one after the other. */
  private send(): Promise<void> {
    clearTimeout(this.timer);
    const [form, url] = [this.form!, this.shown!.text_url];
    this.sending = this.sending.then(async () => {
      const body = formBody(form);
      if (body.toString() === (this.sent || this.before.toString())) return;
      this.sent = body.toString();
      const response = await request(url, body);
      const result = await response?.json().catch(() => null);
      if (!response?.ok) return this.show(result?.message ?? text("The preview does not follow at the moment."));
      if (result.active) this.visit.written();
      else this.visit.ended();
    });
    return this.sending;
  }

  private former(): FormerText {
    return { path: this.shown!.path, before: this.before, draftUrl: this.form!.dataset.draftUrl!, textUrl: this.shown!.text_url };
  }

  private isChanged(): boolean {
    return this.drafts !== null && this.drafts.snapshot() !== this.start;
  }

  private flush(): void {
    this.form?.querySelector<BlockEditor>("galley-rich-editor[ready]")?.flush();
  }

  private hide(): void {
    const hadFocus = this.hasFocus;
    this.panel.hidden = true;
    this.guard.moved();
    this.form = this.drafts = this.shown = null;
    this.element("body").replaceChildren();
    if (hadFocus) this.frame.focus();
  }

  private focus(part: HTMLElement | null): void {
    if (part?.contains(document.activeElement)) return;
    const controls = part?.querySelectorAll<HTMLElement>(".ProseMirror, input:not([type=hidden]), textarea, select, [contenteditable=true], button") ?? [];
    const control = [...controls].find((each) => each.checkVisibility({ visibilityProperty: true })) ?? this.panel;
    control.focus();
    // A text is continued at its end, as in the formatted editor.
    if (control.matches("input[type=text], input:not([type]), textarea")) moveToEnd(control as HTMLInputElement);
  }

  private show(message: string): void {
    this.element("status").textContent = message;
  }

  private element<Type extends HTMLElement = HTMLElement>(name: string): Type {
    return this.panel.querySelector<Type>(`[data-panel-${name}]`)!;
  }
}

function hasDraft(form: HTMLFormElement): boolean {
  return form.querySelector("[data-draft-banner]") !== null;
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(value, most));
}

function moveToEnd(input: HTMLInputElement): void {
  input.setSelectionRange(input.value.length, input.value.length);
}
