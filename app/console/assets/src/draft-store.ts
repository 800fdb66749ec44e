// The draft of a form of the editor: it is stored after a pause in typing, with messages when the service or the session is away.
import { create, createDialog, formBody, icon, show } from "./dom.ts";
import { text } from "./texts.ts";

const RETRY_DELAY_MS = 15_000;

/** Stores the text of a form. `show` displays its state. */
export class DraftStore {
  /** A save runs, which stores the text itself. */
  isPaused = false;
  stored: string;
  private readonly form: HTMLFormElement;
  private readonly show: (message: string) => void;
  private readonly delayMs: number;
  private timer = 0;
  private isSigningIn = false;

  constructor(form: HTMLFormElement, show: (message: string) => void, delayMs: number) {
    [this.form, this.show, this.delayMs] = [form, show, delayMs];
    this.stored = this.snapshot();
  }

  /** Replies to comments are no part of the page. */
  snapshot(without: string[] = []): string {
    const data = new FormData(this.form);
    for (const name of without) data.delete(name);
    return [...data].filter(([name]) => !name.startsWith("reply-")).map(([name, value]) => `${name}=${typeof value === "string" ? value : value.name}`).join("\n");
  }

  isChanged(): boolean {
    return this.snapshot() !== this.stored;
  }

  showChanged(): void {
    this.show(this.form.dataset.changedText || text("Not saved"));
  }

  /** Store the text after a pause if it differs. */
  schedule(): void {
    if (!this.isChanged()) return;
    this.showChanged();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.store(), this.delayMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Store the draft. After a failure try again when the connection returns, and every 15 seconds. */
  async store(): Promise<void> {
    const url = this.form.dataset.draftUrl;
    clearTimeout(this.timer);
    if (!url || this.isPaused || !this.isChanged()) return;
    const snapshot = this.snapshot();
    const response = await request(url, formBody(this.form));
    if (response?.ok && !isSignIn(response)) {
      this.stored = snapshot;
      this.hideBanner();
      if (!this.isChanged()) this.show(this.form.dataset.savedText || text("Draft stored"));
      return;
    }
    if (response && (response.status === 401 || isSignIn(response))) return void this.signIn(() => this.store());
    if (response && response.status < 500) {
      this.show(this.form.dataset.failedText || text("The draft was not stored."));
      return;
    }
    this.showBanner(() => void this.store());
    this.timer = window.setTimeout(() => void this.store(), RETRY_DELAY_MS);
  }

  sendBeacon(): boolean {
    const url = this.form.dataset.draftUrl;
    const body = formBody(this.form);
    if (!url || !(body instanceof URLSearchParams) || !navigator.sendBeacon(url, body)) return false;
    this.stored = this.snapshot();
    return true;
  }

  showBanner(retry: () => void): void {
    if (document.querySelector(".banner[data-connection]")) return;
    const message = navigator.onLine ? text("The service does not respond. Your text is still here.") : text("You are offline. Your text is still here.");
    const button = create("button", { type: "button", class: "button button--small", click: retry }, text("Retry"));
    const banner = create("div", { class: "banner banner--warning", role: "alert", "data-connection": true }, icon("alert-triangle"), create("p", {}, message), button);
    document.querySelector("main")!.prepend(banner);
  }

  hideBanner(): void {
    document.querySelector(".banner[data-connection]")?.remove();
  }

  /** Ask the user to sign in again, then try again. */
  async signIn(retry: () => Promise<void>): Promise<void> {
    if (this.isSigningIn) return;
    this.isSigningIn = true;
    this.showChanged();
    const link = create("a", { href: "/console/sign-in", target: "_blank", rel: "noopener" }, text("Sign in in a new tab"));
    const content = [create("p", {}, text("Your session has ended. Your text is still here.")), create("p", {}, link)];
    const answer = await show(createDialog(text("Sign in again"), content, [["", text("Close")], ["retry", text("Retry")]]));
    this.isSigningIn = false;
    if (answer === "retry") await retry();
  }
}

/** Send a form. Returns null if the service does not respond. */
export async function request(url: string, body: FormData | URLSearchParams): Promise<Response | null> {
  try {
    return await fetch(url, { method: "POST", body, credentials: "same-origin" });
  } catch {
    return null;
  }
}

/** Return whether a response leads to the sign-in, because the session has ended. */
export function isSignIn(response: Response): boolean {
  return response.redirected && new URL(response.url).pathname.startsWith("/console/sign-in");
}
