// The preview beside the editor: it starts the sandbox, follows the typed text, and shows the log of a failed start.
import { formBody } from "./dom.ts";
import type { PanelPart } from "./editor-panel.ts";
import { post, StartRefused, startPreview, stepText, type StartMessage } from "./preview-start.ts";
import { text } from "./texts.ts";

const SYNC_DELAY_MS = 700;
const HEARTBEAT_MS = 120_000;
/** Most sites build an unsaved text within this time. */
const BUILD_MS = 1000;

export class PreviewPanel implements PanelPart {
  private readonly form: HTMLFormElement;
  private readonly part: HTMLElement;
  private readonly frame: HTMLIFrameElement;
  private readonly path: HTMLInputElement;
  private isOpen = false;
  private isStarting = false;
  private sending: Promise<boolean> | null = null;
  private sent = "";
  private address = "";
  private isUnsaved = false;
  private syncTimer = 0;
  private loadTimer = 0;
  private heartbeat = 0;

  constructor(form: HTMLFormElement, part: HTMLElement) {
    this.form = form;
    this.part = part;
    this.frame = part.querySelector("iframe")!;
    this.path = part.querySelector("#preview-path")!;
    this.path.addEventListener("change", () => this.load());
    this.path.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.load();
    });
    this.element("reload").addEventListener("click", () => this.load());
    form.addEventListener("input", () => this.schedule());
    document.querySelector("#preview-start")?.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start();
    });
  }

  open(): void {
    this.isOpen = true;
    this.path.hidden = false;
    // A start that failed is repeated by the user only.
    if (this.part.dataset.state !== "failed") void this.start();
    else void this.sync();
  }

  close(): void {
    this.isOpen = false;
    clearTimeout(this.syncTimer);
    clearTimeout(this.loadTimer);
    clearInterval(this.heartbeat);
  }

  /** Connect to the running preview or start it. The service names each step. */
  private async start(): Promise<void> {
    if (this.isStarting) return;
    this.isStarting = true;
    this.part.dataset.state = "starting";
    this.hideFailure(true);
    this.element("start").hidden = this.element("missing").hidden = true;
    this.show(text("Starting the preview …"));
    this.sent = "";
    void this.sync();
    try {
      for await (const message of startPreview(this.part.dataset.project!, { branch: this.part.dataset.branch })) this.receive(message);
    } catch (error) {
      if (error instanceof StartRefused && error.isForCaller) await this.refuse(error.message);
      else this.fail({ error: error instanceof Error && !(error instanceof TypeError) ? error.message : text("The service does not respond. Your text is still here.") });
    }
    this.isStarting = false;
  }

  private receive(message: StartMessage): void {
    if (message.error) return this.fail(message);
    if (message.step) this.show(stepText(message));
    if (!message.previewUrl) return;
    this.part.dataset.state = "running";
    this.element("simple").hidden = true;
    this.address = message.previewUrl;
    this.sent = "";
    this.isUnsaved = false;
    this.load();
    clearInterval(this.heartbeat);
    this.heartbeat = window.setInterval(() => void this.extend(), HEARTBEAT_MS);
    void this.sendFirst();
  }

  /** Send the unsaved text. The frame may have loaded the page before the site contained it, so load it again. */
  private async sendFirst(): Promise<void> {
    const loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
    await this.sending;
    if (!(await this.sync())) return;
    await loaded;
    this.loadAfterBuild();
  }

  private loadAfterBuild(): void {
    clearTimeout(this.loadTimer);
    this.loadTimer = window.setTimeout(() => this.isOpen && this.load(), BUILD_MS);
  }

  /** Load the page of the path into the frame, and let the link lead there. */
  private load(): void {
    if (!this.address) return;
    const url = new URL(this.address);
    const [path = "", query] = this.path.value.split("?");
    url.pathname = path;
    if (query) url.search = `${query}&${url.search.slice(1)}`;
    this.frame.src = url.href;
    this.frame.hidden = this.element("reload").hidden = false;
    const link = this.element<HTMLAnchorElement>("open");
    link.href = url.href;
    link.hidden = false;
  }

  /** Show the reason of a refused start, and the page without its site. */
  private async refuse(message: string): Promise<void> {
    this.element("missing").hidden = true;
    await this.showWithoutSite();
    this.show(message);
  }

  private async showWithoutSite(): Promise<void> {
    this.end();
    this.part.dataset.state = "failed";
    this.show("");
    this.sent = "";
    await this.sync();
  }

  private fail(message: StartMessage): void {
    this.element("missing").hidden = false;
    void this.showWithoutSite();
    if (!this.part.querySelector("[data-preview-failure]")) return;
    this.hideFailure(false);
    this.element("message").textContent = message.error ?? text("The preview could not be started.");
    const { hint } = message;
    const advice = this.element("advice");
    advice.hidden = !hint?.includes(advice.dataset.previewAdvice!);
    this.element("hint").textContent = hint?.replace(advice.dataset.previewAdvice!, "") ?? "";
    const log = this.element("log");
    log.textContent = message.log_tail ?? "";
    log.closest("details")!.hidden = !message.log_tail;
  }

  /** Show that no preview runs, with the button that starts one. */
  private end(): void {
    clearInterval(this.heartbeat);
    this.part.dataset.state = "";
    this.address = "";
    this.frame.hidden = this.element("reload").hidden = this.element("open").hidden = true;
    this.element("start").hidden = false;
    this.show(text("The preview has ended."));
  }

  /** Show the page without its site. The service has escaped the text. */
  private showSimple(html: string): void {
    const shown = new DOMParser().parseFromString(html, "text/html");
    this.element("content").replaceChildren(...[...shown.body.childNodes].map((node) => document.importNode(node, true)));
    this.element("simple").hidden = false;
  }

  /** The reason of a failed start is a part of the page for those who can change the settings only. */
  private hideFailure(isHidden: boolean): void {
    const failure = this.part.querySelector<HTMLElement>("[data-preview-failure]");
    if (failure) failure.hidden = isHidden;
  }

  /** A running preview, or the page without its site, shows the typed text. */
  private get follows(): boolean {
    return ["starting", "running", "failed"].includes(this.part.dataset.state ?? "");
  }

  private schedule(): void {
    if (!this.isOpen || !this.follows) return;
    clearTimeout(this.syncTimer);
    this.syncTimer = window.setTimeout(() => void this.sync(), SYNC_DELAY_MS);
  }

  /** Write the text of the form into the preview, and return whether it has unsaved changes. Most sites reload themselves. */
  private async sync(): Promise<boolean> {
    const body = formBody(this.form);
    if (this.sending || !this.isOpen || !this.follows || body.toString() === this.sent) return false;
    const { state } = this.part.dataset;
    this.sending = this.send(body, state);
    const isChanged = await this.sending;
    this.sending = null;
    const isNewState = this.part.dataset.state !== state;
    if (isNewState) this.sent = "";
    if (isNewState || (this.sent && formBody(this.form).toString() !== this.sent)) this.schedule();
    return isChanged;
  }

  /** Send the text of the form, and show what the service answers. `state` is that of the preview before. */
  private async send(body: URLSearchParams, state: string | undefined): Promise<boolean> {
    try {
      const response = await fetch(this.part.dataset.textUrl!, { method: "POST", body, headers: { Accept: "application/json" } });
      const result = await response.json();
      if (!response.ok) this.show(result.message);
      else if (!result.active && state === "running") this.end();
      else if (!result.active) {
        this.sent = body.toString();
        if (this.part.dataset.state !== "running") this.showSimple(result.html);
      } else if (state !== "starting") {
        this.sent = body.toString();
        if (this.part.dataset.reloads === undefined && (result.changed || this.isUnsaved)) this.loadAfterBuild();
        this.isUnsaved = result.changed;
        const unsaved = this.part.dataset.shownText || text("The preview shows your unsaved text.");
        this.show(result.changed ? unsaved : text("The preview shows the saved version of the site."));
        return result.changed;
      }
    } catch {
      this.show(text("The preview does not follow at the moment."));
    }
    return false;
  }

  private async extend(): Promise<void> {
    if (document.hidden) return;
    const response = await post("/api/sandbox/heartbeat", { projectId: this.part.dataset.project }).catch(() => null);
    if (response?.ok && !(await response.json()).result.ok) this.end();
  }

  private show(message: string): void {
    this.element("status").textContent = message;
  }

  private element<Type extends HTMLElement = HTMLElement>(name: string): Type {
    return this.part.querySelector<Type>(`[data-preview-${name}]`)!;
  }
}
