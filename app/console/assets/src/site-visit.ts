// The changes of a visit to the site: the pages with texts that are not saved, the texts before them, and the save.
import { formBody, toast } from "./dom.ts";
import { isSignIn, request } from "./draft-store.ts";
import type { MarkedText } from "./marked-texts.ts";
import type { FormerText } from "./part-panel.ts";
import { text } from "./texts.ts";

/** What the page does for the visit. */
export interface VisitPage {
  readonly isEdit: boolean;
  say(message: string): void;
  /** Write the present version of a page, or the draft, into the preview. */
  showPresent(path: string): Promise<unknown>;
}

/** Pages of a proposal whose present versions the preview shows again. The others follow at its next start. */
const MAX_PRESENT = 20;

export class SiteVisit {
  private readonly root: HTMLElement;
  private readonly page: VisitPage;
  private readonly form = document.querySelector<HTMLFormElement>("#site-form")!;
  /** The titles of changed pages by path. */
  private readonly changed: Map<string, string>;
  private readonly formers: (FormerText & { isFirst: boolean })[] = [];
  /** The path of a page whose first change is that of the open panel. */
  private typed = "";
  private isSaving = false;

  constructor(root: HTMLElement, page: VisitPage) {
    [this.root, this.page] = [root, page];
    this.changed = new Map(JSON.parse(sessionStorage.getItem(this.storeName) ?? "[]"));
  }

  get paths(): string[] {
    return [...this.changed.keys()];
  }

  urlOf(page: string, path: string): string {
    return this.form.action.replace(/\/site$/, `/${page}/${path.split("/").map(encodeURIComponent).join("/")}`);
  }

  has(path: string): boolean {
    return this.changed.has(path);
  }

  /** Add the draft of a new page, or one of an earlier visit or of the form that a person has chosen. */
  addDraft(path: string, title: string): void {
    this.changed.set(path, title);
    this.count();
  }

  /** Add the page of a text that is typed. */
  add({ path, title }: MarkedText): void {
    if (this.changed.has(path)) return;
    this.typed = path;
    this.changed.set(path, title);
    this.count();
  }

  remember(former: FormerText): void {
    this.formers.push({ ...former, isFirst: former.path === this.typed });
    this.typed = "";
    this.count();
  }

  /** Remove the page of a text whose change was canceled. */
  remove(): void {
    this.changed.delete(this.typed);
    this.typed = "";
    this.count();
  }

  /** Take the last former text back. */
  takeFormer(): FormerText | undefined {
    const former = this.formers.pop();
    if (former?.isFirst) this.changed.delete(former.path);
    this.count();
    return former;
  }

  /** Save all texts of the visit, or propose them. */
  async save(submitter: HTMLElement | null): Promise<void> {
    if (this.isSaving) return;
    if (!this.changed.size) return void toast(text("Nothing was changed"));
    const body = formBody(this.form, submitter);
    const sent = [...this.changed];
    for (const [path] of sent) body.append("file", path);
    this.page.say(text("Saving …"));
    this.isSaving = true;
    this.changed.clear(); // What is typed from now on is another change.
    const response = await request(this.form.action, body);
    this.isSaving = false;
    this.page.say("");
    const isConflict = response !== null && new URL(response.url).pathname.includes("/conflict/");
    if (!response?.ok || isSignIn(response) || isConflict) for (const [path, title] of sent) this.changed.set(path, title);
    else this.formers.length = 0;
    this.count();
    // A proposal is not on the site. The next visit shows the site.
    if (response?.ok && new URL(response.url).pathname.includes("/changes/")) await Promise.all(sent.slice(0, MAX_PRESENT).map(([path]) => this.page.showPresent(path)));
    await showResult(response);
  }

  /** Show how many pages have changes that are not saved, and keep them for the next load of this page. */
  count(): void {
    sessionStorage.setItem(this.storeName, JSON.stringify([...this.changed]));
    const shown = this.root.querySelector<HTMLElement>("[data-site-count]")!;
    const hint = this.page.isEdit ? text("Click a text to change it.") : "";
    shown.textContent = this.changed.size ? text("Changed pages, not saved: {count}", { count: this.changed.size }) : hint;
    shown.title = [...this.changed.values()].join(", ");
    for (const path of this.changed.keys()) this.draftOf(path)?.remove();
    this.root.querySelector("[data-site-drafts]:not(:has([data-path]))")?.remove();
    for (const button of document.querySelectorAll("button[form=site-form]")) button.setAttribute("aria-disabled", String(!this.changed.size));
    this.root.querySelector("[data-site-undo]")!.setAttribute("aria-disabled", String(!this.formers.length));
  }

  /** Return the link of a draft that an earlier visit or the form has stored. */
  private draftOf(path: string): Element | null {
    return this.root.querySelector(`[data-site-drafts] [data-path="${CSS.escape(path)}"]`);
  }

  private get storeName(): string {
    return `galley-site-${this.root.dataset.project}`;
  }
}

/** Show what the service says about a save: its message, the conflict or the proposal. */
async function showResult(response: Response | null): Promise<void> {
  if (!response || isSignIn(response) || response.status === 401) return toast(response ? text("Your session has ended. Your text is still here.") : text("The service does not respond. Your text is still here."));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok) return toast(page.querySelector(".banner--error p")?.textContent ?? text("The service does not respond. Your text is still here."));
  if (new URL(response.url).pathname !== location.pathname) return location.assign(response.url);
  const message = page.querySelector(".toast");
  toast(...(message ? [...message.childNodes].map((node) => document.importNode(node, true) as ChildNode) : [text("Saved")]));
}
