// The page of the site: it starts an editable preview, shows it in a frame, and opens the text that a click selects.
import { create, toast } from "./dom.ts";
import { KeyboardGuard } from "./keyboard-guard.ts";
import { isSameText, type MarkedText, MarkedTexts, mostOf } from "./marked-texts.ts";
import { type LoadedPage, PageChannel, type PageMessage, type Rect, type SelectedText } from "./page-channel.ts";
import { PartPanel } from "./part-panel.ts";
import { showDetails } from "./site-details.ts";
import { SiteFrame } from "./site-frame.ts";
import { SiteNewEntry } from "./site-new-entry.ts";
import { SitePreview } from "./site-preview.ts";
import { SiteVisit } from "./site-visit.ts";
import { text } from "./texts.ts";

const MAX_OTHERS = 8;
/** Loads of a page that shows an earlier version. */
const MAX_RELOADS = 8;
/** A page reports its changes at this interval. */
const FOLLOW_MS = 300;
const MODE = "galley-site-mode";

class SitePage {
  private readonly page: HTMLElement;
  private readonly frame: SiteFrame;
  private readonly visit: SiteVisit;
  private readonly channel: PageChannel;
  private readonly panel: PartPanel;
  private readonly keyboard: KeyboardGuard;
  private readonly texts: MarkedTexts;
  private readonly newEntry: SiteNewEntry;
  private readonly preview: SitePreview;
  /** The versions of drafts that a preview received at its start. A page that loads before its build shows earlier ones. */
  private readonly awaited = new Map<string, string>();
  private reloads = 0;
  private entry = "";
  private isOpening = false;
  private isFollowing = false;
  private newest: LoadedPage | null = null;
  private rect: Rect | null = null;

  constructor(page: HTMLElement) {
    this.page = page;
    this.frame = new SiteFrame(page);
    this.visit = new SiteVisit(page, this);
    this.texts = new MarkedTexts(page.dataset.marksUrl!);
    this.newEntry = new SiteNewEntry(page, this);
    this.preview = new SitePreview(page, this);
    this.channel = new PageChannel(this.frame.frame, (message) => void this.receive(message), () => this.greet(), () => this.close(text("The page was closed because it sent too many messages.")));
    const panel = this.element("[data-site-panel]");
    this.panel = new PartPanel(panel, this.frame.frame, {
      typed: (shown) => this.add(shown),
      changed: (former) => this.visit.remember(former),
      canceled: () => this.visit.remove(),
      left: () => this.panel.isOpen || this.channel.send({ type: "clear" }),
      written: () => "reloads" in page.dataset || this.frame.loadLater(),
      ended: () => this.preview.end(),
      has: (path) => this.visit.has(path),
      chosen: ({ path, title }) => this.visit.addDraft(path, title),
      outdated: () => this.loadNewest(),
      say: (message) => this.say(message),
    });
    this.keyboard = new KeyboardGuard(this.frame.frame, panel, () => this.close(text("The page was closed because it took the keyboard.")));
    this.listen();
    this.setMode(localStorage.getItem(MODE) !== "browse");
    void this.preview.start();
  }

  /** Send the mode to a page that has loaded. The message that it was loading is over. */
  private greet(): void {
    this.say("");
    this.channel.send({ type: "mode", edit: this.isEdit });
  }

  private listen(): void {
    const on = (name: string, act: () => void) => this.element(`[data-site-${name}]`).addEventListener("click", act);
    for (const button of this.page.querySelectorAll<HTMLElement>("[data-site-mode]")) button.addEventListener("click", () => this.setMode(button.dataset.siteMode === "edit"));
    const widths = [...this.page.querySelectorAll<HTMLElement>("[data-site-width]")];
    for (const button of widths) {
      button.addEventListener("click", () => {
        this.element("[data-site-stage]").dataset.width = button.dataset.siteWidth;
        for (const one of widths) one.setAttribute("aria-pressed", String(one === button));
      });
    }
    this.element("[data-panel-go]").addEventListener("click", ({ currentTarget }) => {
      const { href } = (currentTarget as HTMLElement).dataset;
      void this.panel.close().then(() => this.frame.load(href!));
    });
    on("undo", () => void this.undo());
    document.querySelector<HTMLFormElement>("#site-form")!.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save(event.submitter);
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s" || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      document.querySelector<HTMLButtonElement>("button[form=site-form][type=submit]")?.click();
    });
  }

  async started(address: string): Promise<void> {
    this.channel.admit(new URL(address).origin);
    for (const path of this.visit.paths) {
      const { version } = await this.showPresent(path);
      if (version) this.awaited.set(path, version);
    }
    this.reloads = MAX_RELOADS;
    this.frame.open(address, this.page.dataset.at || "/");
  }

  ended(): void {
    this.frame.end();
  }

  showPresent(path: string): Promise<{ version: string; address: string }> {
    return this.panel.showDraft(this.visit.urlOf("edit", path), `${this.visit.urlOf("preview-text", path)}?editable=true`);
  }

  async addNew(path: string, title: string): Promise<string> {
    await this.panel.close();
    const { address } = await this.showPresent(path);
    this.visit.addDraft(path, title);
    return address;
  }

  load(address: string): void {
    this.frame.load(address);
  }

  private async receive(message: PageMessage): Promise<void> {
    if (message.type === "page") await this.followNewest(message);
    else if (message.type === "move") this.moveLater(message.rect);
    else if (!this.keyboard.isPageUsed) return; // Keys and clicks of a person are in the panel.
    else if (message.type === "leave") await this.panel.close();
    else if (!this.isOpening && navigator.userActivation.isActive) {
      // A person clicked in the page or in the console a moment ago. A page alone opens nothing.
      this.isOpening = true;
      await this.select(message).finally(() => (this.isOpening = false));
    }
  }

  /** Move the panel once in each frame that the browser draws. */
  private moveLater(rect: Rect | null): void {
    if (!rect || !this.panel.isOpen) return;
    if (!this.rect) requestAnimationFrame(() => {
      if (this.rect && this.panel.isOpen) this.panel.move(this.rect);
      this.rect = null;
    });
    this.rect = rect;
  }

  /** Close a page that disturbs the console. */
  private close(reason: string): void {
    this.channel.close();
    this.frame.close(reason);
  }

  /** Follow pages, each after the last. Of those that arrive meanwhile, only the newest counts: a page can report without end. */
  private async followNewest(page: LoadedPage): Promise<void> {
    this.newest = page;
    if (this.isFollowing) return;
    this.isFollowing = true;
    try {
      for (let next: LoadedPage | null; (next = this.newest); await pause(FOLLOW_MS)) {
        this.newest = null;
        await this.follow(next);
      }
    } finally {
      this.isFollowing = false;
    }
  }

  /** Show the address and the entry of a page, and find the open text again. */
  private async follow({ url, main, numbers, misplaced }: LoadedPage): Promise<void> {
    this.texts.report(misplaced);
    if (!/^\/(?!\/)/.test(url)) return;
    this.frame.follow(url);
    const [headings, texts] = [await this.texts.find(main), await this.texts.find(numbers)];
    if (this.isEarlier(texts)) this.frame.loadLater();
    const entry = headings[0] ?? mostOf(texts);
    this.entry = entry?.path ?? "";
    this.showEntry(entry?.title ?? "", entry?.list ?? "", entry?.edit ?? "");
    this.newEntry.follow(texts);
    showDetails(this.element("[data-site-details]"), texts, await this.texts.find(misplaced));
    const open = this.panel.shown;
    const again = open && texts.find((one) => isSameText(one, open));
    if (again) this.channel.send({ type: "select", number: again.number });
  }

  /** Show the title and the list of an entry, and the link to its form. */
  showEntry(title: string, list: string, edit: string): void {
    this.element("[data-site-title]").textContent = title;
    this.element("[data-site-list]").textContent = list;
    const link = this.element<HTMLAnchorElement>("[data-site-form]");
    link.hidden = !edit;
    link.href = edit;
  }

  /** Return whether a page shows an earlier version of a draft, and may be loaded again. */
  private isEarlier(texts: MarkedText[]): boolean {
    for (const { path, blob_sha } of texts) if (this.awaited.get(path) === blob_sha) this.awaited.delete(path);
    return texts.some(({ path }) => this.awaited.has(path)) && this.reloads-- > 0;
  }

  private async select(message: SelectedText): Promise<void> {
    await this.panel.close();
    const texts = message.source ? await this.texts.findField(message.source, this.entry) : await this.texts.find(message.numbers);
    if (this.panel.isOpen) return;
    if (!message.source && !message.numbers.length) return toast(text("This text cannot be changed on the page."));
    this.say(texts.length ? "" : text("This text opens in the form only."));
    if (texts[0]) await this.open(texts[0], texts, message);
  }

  private async open(shown: MarkedText, texts: MarkedText[], message: SelectedText): Promise<void> {
    const others = texts.filter((one, at) => !isSameText(one, shown) && texts.findIndex((other) => isSameText(one, other)) === at).slice(0, MAX_OTHERS);
    const list = this.element("[data-panel-list]");
    list.replaceChildren(...others.map((one) => create("button", { type: "button", click: () => void this.panel.close().then(() => this.open(one, texts, message)) }, `${one.part} · ${one.title}`)));
    list.closest("details")!.hidden = !others.length;
    list.closest("details")!.open = false;
    this.element("[data-panel-form]").textContent = shown.path === this.entry ? text("All fields") : text("Edit this page");
    const go = this.element("[data-panel-go]");
    const target = this.frame.pathOf(message.href);
    go.hidden = target === null;
    go.dataset.href = target ?? "";
    await this.panel.open(shown, message.rect, message.text);
  }

  private loadNewest(): void {
    this.say(text("This text changed. The page is loading its newest version."));
    this.frame.loadLater();
  }

  private add(shown: MarkedText): void {
    this.awaited.delete(shown.path);
    this.visit.add(shown);
  }

  private async undo(): Promise<void> {
    await this.panel.close();
    const former = this.visit.takeFormer();
    if (former) await this.panel.restore(former);
  }

  private async save(submitter: HTMLElement | null): Promise<void> {
    await this.panel.close();
    if (!this.panel.isOpen) await this.visit.save(submitter);
  }

  private setMode(isEdit: boolean): void {
    localStorage.setItem(MODE, isEdit ? "edit" : "browse");
    for (const button of this.page.querySelectorAll<HTMLElement>("[data-site-mode]")) button.setAttribute("aria-pressed", String((button.dataset.siteMode === "edit") === isEdit));
    this.channel.send({ type: "mode", edit: isEdit });
    this.visit.count();
  }

  get isEdit(): boolean {
    return this.element("[data-site-mode=edit]").getAttribute("aria-pressed") === "true";
  }

  say(message: string): void {
    this.element("[data-site-status]").textContent = message;
  }

  private element<Type extends HTMLElement = HTMLElement>(selector: string): Type {
    return this.page.querySelector<Type>(selector)!;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function initSitePage(page: HTMLElement): void {
  new SitePage(page);
}
