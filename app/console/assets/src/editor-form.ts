// The form of the editor: drafts, saving in place, word count, and messages when the service or the session is away.
import { countWords } from "./count-words.ts";
import { create, formBody, toast } from "./dom.ts";
import { DraftStore, isSignIn, request } from "./draft-store.ts";
import { LoadedPanel } from "./loaded-panel.ts";
import { type PanelPart, initPanel } from "./editor-panel.ts";
import { initFields } from "./fields.ts";
import { PreviewPanel } from "./preview-panel.ts";
import { text } from "./texts.ts";
import { initTitle } from "./title-line.ts";

const DRAFT_DELAY_MS = 2000;
const COUNT_DELAY_MS = 400;
/** Fields that a save in place reads from the page that the service returned. */
const READ_ON_SAVE = ["base_sha", "base_blob_sha", "message"];

class EditorForm {
  private readonly form: HTMLFormElement;
  private readonly status = document.querySelector<HTMLElement>(".content-header .status");
  private readonly saveButton: HTMLElement | null;
  private readonly drafts: DraftStore;
  /** The form without anything to save, or null if the page has a draft or an error. */
  private saved: string | null;

  constructor(form: HTMLFormElement) {
    this.form = form;
    this.drafts = new DraftStore(form, (message) => this.show(message), DRAFT_DELAY_MS);
    this.saved = document.querySelector("[data-draft-banner], main > .banner--error") ? null : this.drafts.stored;
    this.saveButton = document.querySelector(`.content-header__actions > button[form="${form.id}"]`);
    this.markSaved();
    form.addEventListener("input", () => this.onInput());
    form.addEventListener("change", () => this.onInput());
    form.addEventListener("submit", (event) => {
      if (event.submitter?.getAttribute("name") === "list-action") {
        this.drafts.isPaused = true; // The service returns the page with the changed list.
        form.querySelector("input[name=is-stored]")?.remove();
        if (!this.drafts.isChanged()) form.append(create("input", { type: "hidden", name: "is-stored", value: "1" }));
        return;
      }
      event.preventDefault();
      this.markSaved();
      if (event.submitter?.getAttribute("aria-disabled") !== "true") void this.save(event.submitter);
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      const dialog = document.querySelector("dialog[open]");
      // What a dialog contains is part of the page only after the dialog is applied.
      if (dialog) return dialog.querySelector<HTMLButtonElement>("form[method=dialog] .button--primary")?.click();
      const button = document.querySelector<HTMLButtonElement>(`button[form="${form.id}"][type=submit], #${form.id} button[type=submit]`);
      const menu = button?.closest<HTMLDetailsElement>("details.propose:not([open])");
      // Only the choice of the menu says where the text is saved.
      if (menu) {
        menu.open = true;
        menu.querySelector<HTMLElement>("select")?.focus();
      } else form.requestSubmit(button);
    });
    window.addEventListener("beforeunload", (event) => {
      if (this.drafts.isPaused) return;
      const isStored = !this.drafts.isChanged() || this.drafts.sendBeacon();
      if (!isStored || this.replies().length) event.preventDefault();
    });
    window.addEventListener("pagehide", () => {
      if (!this.drafts.isPaused && this.drafts.isChanged()) this.drafts.sendBeacon();
    });
    window.addEventListener("online", () => void this.drafts.store());
    this.initCount();
  }

  /** Return the inputs with a reply to a comment that is not sent. */
  private replies(): HTMLTextAreaElement[] {
    return [...this.form.querySelectorAll<HTMLTextAreaElement>('textarea[name^="reply-"]')].filter(({ value }) => value.trim());
  }

  /** Let the button be active only with something to save. It keeps the focus. */
  private markSaved(): void {
    if (!this.drafts.isPaused) this.saveButton?.setAttribute("aria-disabled", String(this.drafts.snapshot() === this.saved && !this.replies().length));
  }

  private onInput(): void {
    this.markSaved();
    this.drafts.schedule();
  }

  private show(message: string): void {
    if (this.status) this.status.textContent = message;
  }

  private async save(submitter: HTMLElement | null): Promise<void> {
    if (this.drafts.isPaused) return;
    this.drafts.isPaused = true;
    this.drafts.stop();
    const snapshot = this.drafts.snapshot(READ_ON_SAVE);
    this.show(text("Saving …"));
    submitter?.setAttribute("aria-disabled", "true");
    const body = formBody(this.form, submitter);
    if (!this.drafts.isChanged()) body.set("is-stored", "1"); // Another tab can have stored a newer draft.
    const replies = this.replies().map((field) => [field, field.value] as const);
    const response = await request(this.form.action, body);
    submitter?.removeAttribute("aria-disabled");
    if (response && (response.status === 401 || isSignIn(response))) {
      this.drafts.isPaused = false;
      return void this.drafts.signIn(() => this.save(submitter));
    }
    if (!response || response.status >= 500) {
      this.drafts.isPaused = false;
      this.drafts.showChanged();
      this.drafts.showBanner(() => void this.save(submitter));
      return;
    }
    this.drafts.hideBanner();
    if (!response.ok) {
      // The service returned a page: the conflict or the fields with errors. The browser shows it after sending the form again.
      this.submitNatively(submitter);
      return;
    }
    for (const [field, reply] of replies) if (field.value === reply) field.value = "";
    // After a rename of an image, a request for a review and a reply, other parts of the page differ.
    const isOther = replies.length > 0 || ["saved-renamed", "proposed"].includes(new URL(response.url).searchParams.get("done") ?? "");
    const isMoved = setOf(response.url) !== setOf(location.href);
    const isSamePage = response.redirected && !isMoved && new URL(response.url).pathname === location.pathname;
    if (isSamePage && !isOther && (await this.takeOver(await response.text(), body, snapshot))) {
      this.drafts.isPaused = false;
      this.onInput();
      return;
    }
    // The draft keeps what was typed during the save. Without that, the stored text is newer than the form.
    this.drafts.isPaused = (isOther || isMoved) && this.drafts.snapshot(READ_ON_SAVE) === snapshot && !this.replies().length;
    location.assign(response.url);
  }

  private submitNatively(submitter: HTMLElement | null): void {
    if (submitter instanceof HTMLButtonElement && submitter.name) {
      this.form.append(create("input", { type: "hidden", name: submitter.name, value: submitter.value }));
    }
    this.form.submit();
  }

  /**
   * Stay on the page after a save if the service returned the same editor with the text that was sent: read its hidden fields,
   * status and message. `body` is that of the request, and `snapshot` the form at that time. A new field and a list that was
   * changed during the save need the new page.
   */
  private async takeOver(html: string, body: URLSearchParams, snapshot: string): Promise<boolean> {
    const page = new DOMParser().parseFromString(html, "text/html");
    const other = page.querySelector<HTMLFormElement>("form[data-editor]");
    const sent = String(body.get("body") ?? "");
    if (!other || lineFeeds(other.querySelector<HTMLTextAreaElement>("textarea[name=body]")?.value ?? "") !== lineFeeds(sent)) return false;
    if (String(body.get("new.key") ?? "").trim()) return false;
    const isMoved = (own: HTMLInputElement) => other.querySelector<HTMLInputElement>(`input[name="${CSS.escape(own.name)}"]`)?.value !== own.value;
    const isUnchanged = this.drafts.snapshot(READ_ON_SAVE) === snapshot;
    if ([...this.form.querySelectorAll<HTMLInputElement>('input[name^="items."]')].some(isMoved)) {
      if (!isUnchanged) return false;
      const { takeOverLists } = await import("./field-groups.ts");
      takeOverLists(this.form, other, initFields);
    }
    this.form.dataset.images = other.dataset.images;
    const media = other.querySelector<HTMLElement>("[data-media-url]")?.dataset.mediaUrl;
    const editor = this.form.querySelector<HTMLElement>("[data-media-url]");
    if (editor && media) editor.dataset.mediaUrl = media;
    if (!page.querySelector("[data-draft-banner]")) document.querySelector("[data-draft-banner]")?.remove();
    for (const input of other.querySelectorAll<HTMLInputElement>("input[name]")) {
      if (!READ_ON_SAVE.includes(input.name)) continue;
      const own = this.form.querySelector<HTMLInputElement>(`input[name="${CSS.escape(input.name)}"]`);
      if (own) own.value = input.value;
    }
    this.saved = isUnchanged ? (this.drafts.stored = this.drafts.snapshot()) : null;
    this.show(page.querySelector(".content-header .status")?.textContent?.trim() || text("Saved"));
    const message = page.querySelector(".toast");
    toast(...(message ? [...message.childNodes].map((node) => document.importNode(node, true) as ChildNode) : [text("Saved")]));
    const hint = page.querySelector("[data-after-save]");
    document.querySelector("[data-after-save]")?.remove();
    if (hint) document.querySelector("main")!.prepend(document.importNode(hint, true));
    return true;
  }

  private initCount(): void {
    const field = this.form.querySelector<HTMLTextAreaElement>(".editor__text textarea");
    if (!field) return;
    const output = create("p", { class: "editor__count" });
    field.closest(".editor__text")!.append(output);
    let timer = 0;
    const count = () => {
      output.textContent = text("{count} words", { count: countWords(field.value, document.documentElement.lang).toLocaleString(document.documentElement.lang) });
    };
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(count, COUNT_DELAY_MS);
    });
    count();
  }
}

/** Return the change set whose version of a page a URL names. */
function setOf(url: string): string | null {
  return new URL(url).searchParams.get("set");
}

function lineFeeds(value: string): string {
  return value.replace(/\r\n?/g, "\n");
}

/** Focus the first field with an error, of a list the control that a script has added. The editor of a text focuses itself. */
function focusInvalid(form: HTMLFormElement): void {
  const field = form.querySelector<HTMLTextAreaElement>("[autofocus]");
  if (!field) return;
  field.dispatchEvent(new Event("invalid")); // The panel shows its part.
  if (field.name === "body") return;
  const controls = field.closest(".field")?.querySelectorAll<HTMLElement>("input:not([type=hidden]), textarea, [contenteditable=true], select, button") ?? [];
  ([field, ...controls].find((control) => control.checkVisibility({ visibilityProperty: true })) ?? field).focus();
}

async function start(form: HTMLFormElement): Promise<void> {
  new EditorForm(form);
  const part = (name: string) => document.querySelector<HTMLElement>(`[data-panel-part="${name}"]`);
  const parts: Record<string, PanelPart> = {};
  const [preview, ai] = [part("preview"), part("assistant")];
  if (preview) parts.preview = new PreviewPanel(form, preview);
  for (const name of ["history", "translation"]) {
    const loaded = part(name);
    if (loaded) parts[name] = new LoadedPanel(name, loaded);
  }
  if (ai?.querySelector("textarea")) {
    const { AiPanel, initMessageSuggestion } = await import("./ai-panel.ts");
    parts.assistant = new AiPanel(form, ai);
    initMessageSuggestion(form);
  }
  initPanel(form, parts);
  initTitle(form);
  initFields(form, form);
  focusInvalid(form);
  const links = form.querySelector<HTMLElement>("[data-missing-links]");
  if (links) void import("./missing-links.ts").then(({ initMissingLinks }) => initMissingLinks(form, links));
}

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-editor]")) void start(form);
