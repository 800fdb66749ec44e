// The page of the site: it starts an editable preview, shows it in a frame, and opens the text that a click selects.
import { create, formBody, toast } from "./dom.ts";
import { isSignIn, request } from "./draft-store.ts";
import { type LoadedPage, PageChannel, type PageMessage, type SelectedText } from "./page-channel.ts";
import { type FormerText, type MarkedText, PartPanel } from "./part-panel.ts";
import { showStep } from "./preview-page.ts";
import { post, type StartMessage, startPreview } from "./preview-start.ts";
import { text } from "./texts.ts";

const HEARTBEAT_MS = 120_000;
/** Most sites build a text within this time. */
const BUILD_MS = 1000;
const MAX_OTHERS = 8;
/** Loads of a page that shows an earlier version. */
const MAX_RELOADS = 8;
/** A page reports its changes at this interval. */
const FOLLOW_MS = 300;
const MODE = "galley-site-mode";
const PARTS = ["bar", "entry", "stage"];

class SitePage {
  private readonly page: HTMLElement;
  private readonly frame: HTMLIFrameElement;
  private readonly path: HTMLInputElement;
  private readonly form = document.querySelector<HTMLFormElement>("#site-form")!;
  private readonly channel: PageChannel;
  private readonly panel: PartPanel;
  private readonly texts = new Map<number, MarkedText | null>();
  private readonly misplaced = new Set<number>();
  /** The versions of drafts that a preview received at its start. A page that loads before its build shows earlier ones. */
  private readonly awaited = new Map<string, string>();
  private reloads = 0;
  private readonly changed: Map<string, string>;
  private readonly formers: (FormerText & { isFirst: boolean })[] = [];
  private readonly urls: string[] = [];
  private at = -1;
  private address = "";
  private sandboxId = "";
  private entry = "";
  /** The path of a page whose first change is that of the open panel. */
  private typed = "";
  private isOpening = false;
  private isFollowing = false;
  private newest: LoadedPage | null = null;
  private isSaving = false;
  private heartbeat = 0;
  private loadTimer = 0;

  constructor(page: HTMLElement) {
    this.page = page;
    this.frame = page.querySelector("iframe")!;
    this.path = page.querySelector("#site-path")!;
    this.changed = new Map(JSON.parse(sessionStorage.getItem(this.storeName) ?? "[]"));
    this.channel = new PageChannel(this.frame, (message) => void this.receive(message), () => this.greet());
    this.panel = new PartPanel(this.element("[data-site-panel]"), this.frame, {
      typed: (shown) => this.add(shown),
      changed: (former) => this.remember(former),
      canceled: () => this.remove(),
      left: () => this.panel.isOpen || this.channel.send({ type: "clear" }),
      written: () => "reloads" in page.dataset || this.loadLater(),
      ended: () => this.end(),
      say: (message) => this.say(message),
    });
    this.listen();
    this.setMode(localStorage.getItem(MODE) !== "browse");
    void this.start();
  }

  /** Send the mode to a page that has loaded. The message that it was loading is over. */
  private greet(): void {
    this.say("");
    this.channel.send({ type: "mode", edit: this.isEdit });
  }

  private listen(): void {
    const on = (name: string, act: () => void) => this.element(`[data-site-${name}]`).addEventListener("click", act);
    on("back", () => this.go(this.at - 1));
    on("forward", () => this.go(this.at + 1));
    on("reload", () => this.load(this.urls[this.at] ?? this.path.value));
    on("start", () => void this.start());
    this.path.addEventListener("change", () => this.load(this.path.value));
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
      void this.panel.close().then(() => this.load(href!));
    });
    on("undo", () => void this.undo());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save(event.submitter);
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s" || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      document.querySelector<HTMLButtonElement>("button[form=site-form][type=submit]")?.click();
    });
  }

  /** Connect to the editable preview or start it. The service names each step. */
  private async start(): Promise<void> {
    this.element("[data-site-start]").hidden = true;
    this.element("[data-preview-steps]").hidden = false;
    this.say("");
    let last: StartMessage = { error: text("The preview could not be started.") };
    try {
      for await (last of startPreview(this.page.dataset.project!, { editable: true })) if (last.step && !last.error) showStep(this.page, last);
    } catch (error) {
      last = { error: error instanceof Error && !(error instanceof TypeError) ? error.message : text("The preview could not be started.") };
    }
    this.element("[data-preview-steps]").hidden = true;
    if (last.previewUrl) return void (await this.run(last));
    this.say([last.error, last.hint].filter(Boolean).join("\n") || text("The preview could not be started."));
    this.element("[data-site-start]").hidden = false;
    this.showForms("");
  }

  private async run({ previewUrl, sandboxId, editable, editableReason }: StartMessage): Promise<void> {
    [this.address, this.sandboxId] = [previewUrl!, sandboxId ?? ""];
    this.channel.admit(new URL(this.address).origin);
    for (const name of PARTS) this.element(`[data-site-${name}]`).hidden = false;
    if (editable === false) this.showForms(editableReason ?? "");
    for (const path of this.changed.keys()) {
      const version = await this.panel.showDraft(this.urlOf("edit", path), `${this.urlOf("preview-text", path)}?editable=true`);
      if (version) this.awaited.set(path, version);
    }
    this.reloads = MAX_RELOADS;
    this.load(this.urls[this.at] || this.page.dataset.at || "/");
    clearInterval(this.heartbeat);
    this.heartbeat = window.setInterval(() => void this.extend(), HEARTBEAT_MS);
  }

  private urlOf(page: string, path: string): string {
    return this.form.action.replace(/\/site$/, `/${page}/${path.split("/").map(encodeURIComponent).join("/")}`);
  }

  /** Texts of the site open in the form: it does not run, or it has no marks. */
  private showForms(reason: string): void {
    this.element("[data-site-forms]").classList.remove("without-script");
    this.element("[data-site-reason]").textContent = reason;
  }

  private end(): void {
    clearInterval(this.heartbeat);
    this.address = "";
    for (const name of PARTS) this.element(`[data-site-${name}]`).hidden = true;
    this.element("[data-site-start]").hidden = false;
    this.say(text("The preview has ended."));
  }

  private async extend(): Promise<void> {
    if (document.hidden) return;
    const response = await post("/api/sandbox/heartbeat", { sandboxId: this.sandboxId }).catch(() => null);
    if (response?.ok && !(await response.json()).result.ok) this.end();
  }

  /** Show a page of the site in the frame. */
  private load(path: string): void {
    clearTimeout(this.loadTimer);
    if (!this.address) return;
    const own = new URL(this.address);
    const url = URL.canParse(path, own.origin) ? new URL(path, own.origin) : own;
    if (url.origin !== own.origin) return;
    url.search = [url.search.slice(1), own.search.slice(1)].filter(Boolean).join("&");
    this.frame.src = url.href;
  }

  private loadLater(): void {
    clearTimeout(this.loadTimer);
    this.loadTimer = window.setTimeout(() => this.load(this.urls[this.at] ?? "/"), BUILD_MS);
  }

  private go(at: number): void {
    if (!this.urls[at]) return;
    this.at = at;
    this.load(this.urls[at]);
  }

  private async receive(message: PageMessage): Promise<void> {
    if (message.type === "page") await this.followNewest(message);
    else if (message.type === "move") message.rect && this.panel.isOpen && this.panel.move(message.rect);
    else if (this.panel.hasFocus) return; // Keys and clicks of a person are in the panel.
    else if (message.type === "leave") await this.panel.close();
    else if (!this.isOpening && this.isActivated) {
      this.isOpening = true;
      await this.select(message).finally(() => (this.isOpening = false));
    }
  }

  /** Return whether a person clicked in the page or in the console a moment ago, and does not type into the console. A page alone opens nothing. */
  private get isActivated(): boolean {
    return navigator.userActivation.isActive && !document.activeElement?.closest("input, textarea, select, dialog, [contenteditable]");
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
    this.report(misplaced);
    if (!/^\/(?!\/)/.test(url)) return;
    if (url !== this.urls[this.at]) {
      this.urls.splice(++this.at, this.urls.length, url);
      const own = new URL(location.href);
      own.search = new URLSearchParams({ at: url }).toString();
      history.replaceState(history.state, "", own);
    }
    if (document.activeElement !== this.path) this.path.value = url;
    this.mark("back", this.at > 0);
    this.mark("forward", this.at < this.urls.length - 1);
    const [headings, texts] = [await this.find(main), await this.find(numbers)];
    if (this.isEarlier(texts)) this.loadLater();
    const entry = headings[0] ?? mostOf(texts);
    this.entry = entry?.path ?? "";
    this.element("[data-site-title]").textContent = entry?.title ?? "";
    this.element("[data-site-list]").textContent = entry?.list ?? "";
    const link = this.element<HTMLAnchorElement>("[data-site-form]");
    link.hidden = !entry;
    link.href = entry?.edit ?? "";
    const open = this.panel.shown;
    const again = open && texts.find((one) => isSameText(one, open));
    if (again) this.channel.send({ type: "select", number: again.number });
  }

  /** Return whether a page shows an earlier version of a draft, and may be loaded again. */
  private isEarlier(texts: MarkedText[]): boolean {
    for (const { path, blob_sha } of texts) if (this.awaited.get(path) === blob_sha) this.awaited.delete(path);
    return texts.some(({ path }) => this.awaited.has(path)) && this.reloads-- > 0;
  }

  /** Name marks outside of texts. The next start of the preview leaves them out. */
  private report(misplaced: number[]): void {
    const numbers = misplaced.filter((number) => !this.misplaced.has(number));
    if (!numbers.length) return;
    for (const number of numbers) this.misplaced.add(number);
    const body = new URLSearchParams({ numbers: String(numbers) });
    void fetch(`${this.page.dataset.marksUrl!.replace(/marks$/, "misplaced")}`, { method: "POST", body }).catch(() => null);
  }

  /** Return the texts of numbers that the service knows. */
  private async find(numbers: number[]): Promise<MarkedText[]> {
    const unknown = numbers.filter((number) => !this.texts.has(number));
    if (unknown.length) {
      const response = await fetch(`${this.page.dataset.marksUrl}?numbers=${unknown}`, { headers: { Accept: "application/json" } }).catch(() => null);
      const found: MarkedText[] = response?.ok ? (await response.json()).marks : [];
      if (response?.ok) for (const number of unknown) this.texts.set(number, null);
      for (const one of found) this.texts.set(one.number, one);
    }
    return numbers.flatMap((number) => this.texts.get(number) ?? []);
  }

  /** Return the field that attributes of the site name. */
  private async findField({ file, field }: { file: string; field: string }): Promise<MarkedText[]> {
    const query = new URLSearchParams({ file: file || this.entry, field });
    const response = await fetch(`${this.page.dataset.marksUrl!.replace(/marks$/, "field")}?${query}`, { headers: { Accept: "application/json" } }).catch(() => null);
    return response?.ok ? (await response.json()).marks : [];
  }

  private async select(message: SelectedText): Promise<void> {
    await this.panel.close();
    const texts = message.source ? await this.findField(message.source) : await this.find(message.numbers);
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
    const target = message.href && URL.canParse(message.href, this.address) ? new URL(message.href, this.address) : null;
    go.hidden = target?.origin !== new URL(this.address).origin;
    go.dataset.href = target ? target.pathname + target.search + target.hash : "";
    if (this.draftOf(shown.path)) {
      this.changed.set(shown.path, shown.title);
      this.count();
    }
    if (await this.panel.open(shown, message.rect, message.text)) return;
    this.say(text("This text changed. The page is loading its newest version."));
    this.loadLater();
  }

  private add({ path, title }: MarkedText): void {
    this.awaited.delete(path);
    if (this.changed.has(path)) return;
    this.typed = path;
    this.changed.set(path, title);
    this.count();
  }

  private remember(former: FormerText): void {
    this.formers.push({ ...former, isFirst: former.path === this.typed });
    this.typed = "";
    this.count();
  }

  private remove(): void {
    this.changed.delete(this.typed);
    this.typed = "";
    this.count();
  }

  private async undo(): Promise<void> {
    await this.panel.close();
    const former = this.formers.pop();
    if (former?.isFirst) this.changed.delete(former.path);
    this.count();
    if (former) await this.panel.restore(former);
  }

  /** Save all texts of the visit, or propose them. */
  private async save(submitter: HTMLElement | null): Promise<void> {
    await this.panel.close();
    if (this.panel.isOpen || this.isSaving) return;
    if (!this.changed.size) return void toast(text("Nothing was changed"));
    const body = formBody(this.form, submitter);
    const sent = [...this.changed];
    for (const [path] of sent) body.append("file", path);
    this.say(text("Saving …"));
    this.isSaving = true;
    this.changed.clear(); // What is typed from now on is another change.
    const response = await request(this.form.action, body);
    this.isSaving = false;
    this.say("");
    const isConflict = response !== null && new URL(response.url).pathname.includes("/conflict/");
    if (!response?.ok || isSignIn(response) || isConflict) for (const [path, title] of sent) this.changed.set(path, title);
    else this.formers.length = 0;
    this.count();
    if (!response || isSignIn(response) || response.status === 401) return void toast(response ? text("Your session has ended. Your text is still here.") : text("The service does not respond. Your text is still here."));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!response.ok) return void toast(page.querySelector(".banner--error p")?.textContent ?? text("The service does not respond. Your text is still here."));
    if (new URL(response.url).pathname !== location.pathname) return location.assign(response.url);
    const message = page.querySelector(".toast");
    toast(...(message ? [...message.childNodes].map((node) => document.importNode(node, true) as ChildNode) : [text("Saved")]));
  }

  /** Show how many pages have changes that are not saved, and keep them for the next load of this page. */
  private count(): void {
    sessionStorage.setItem(this.storeName, JSON.stringify([...this.changed]));
    const shown = this.element("[data-site-count]");
    const hint = this.isEdit ? text("Click a text to change it.") : "";
    shown.textContent = this.changed.size ? text("Changed pages, not saved: {count}", { count: this.changed.size }) : hint;
    shown.title = [...this.changed.values()].join(", ");
    for (const path of this.changed.keys()) this.draftOf(path)?.remove();
    this.page.querySelector("[data-site-drafts]:not(:has([data-path]))")?.remove();
    for (const button of document.querySelectorAll("button[form=site-form]")) button.setAttribute("aria-disabled", String(!this.changed.size));
    this.mark("undo", this.formers.length > 0);
  }

  private setMode(isEdit: boolean): void {
    localStorage.setItem(MODE, isEdit ? "edit" : "browse");
    for (const button of this.page.querySelectorAll<HTMLElement>("[data-site-mode]")) button.setAttribute("aria-pressed", String((button.dataset.siteMode === "edit") === isEdit));
    this.channel.send({ type: "mode", edit: isEdit });
    this.count();
  }

  /** Return the link of a draft that an earlier visit or the form has stored. */
  private draftOf(path: string): Element | null {
    return this.page.querySelector(`[data-site-drafts] [data-path="${CSS.escape(path)}"]`);
  }

  private get isEdit(): boolean {
    return this.element("[data-site-mode=edit]").getAttribute("aria-pressed") === "true";
  }

  private mark(name: string, isEnabled: boolean): void {
    this.element(`[data-site-${name}]`).setAttribute("aria-disabled", String(!isEnabled));
  }

  private get storeName(): string {
    return `galley-site-${this.page.dataset.project}`;
  }

  private say(message: string): void {
    this.element("[data-site-status]").textContent = message;
  }

  private element<Type extends HTMLElement = HTMLElement>(selector: string): Type {
    return this.page.querySelector<Type>(selector)!;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function isSameText(one: MarkedText, other: MarkedText): boolean {
  return one.path === other.path && one.pointer === other.pointer && one.block === other.block;
}

/** Return a text of the file with the most texts, or none if several files have as many. Values can be those of a list of other pages. */
function mostOf(texts: MarkedText[]): MarkedText | undefined {
  const blocks = texts.filter(({ block }) => block !== null);
  const counts = new Map<string, number>();
  for (const { path } of blocks.length ? blocks : texts) counts.set(path, (counts.get(path) ?? 0) + 1);
  const [most, next] = [...counts].sort((one, other) => other[1] - one[1]);
  return most?.[1] === next?.[1] ? undefined : texts.find(({ path }) => path === most?.[0]);
}

export function initSitePage(page: HTMLElement): void {
  new SitePage(page);
}
