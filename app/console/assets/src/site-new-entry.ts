// "New entry" of the page of the site: the dialog of a new entry, and the new page in the frame when the site has built it.
import type { MarkedText } from "./marked-texts.ts";
import { text } from "./texts.ts";

/** Most sites build a new page within this time. */
const BUILD_MS = 3000;
const MAX_LOADS = 8;

/** What the page does for a new entry. */
export interface NewEntryPage {
  /** Write the draft of a page into the preview, and return the address of the page in the site. */
  addNew(path: string, title: string): Promise<string>;
  load(address: string): void;
  showEntry(title: string, list: string, edit: string): void;
  say(message: string): void;
}

export class SiteNewEntry {
  private readonly page: NewEntryPage;
  /** The path of a new page that the site does not show yet. */
  private awaited = "";

  constructor(root: HTMLElement, page: NewEntryPage) {
    this.page = page;
    root.querySelector<HTMLElement>("[data-site-new]")?.addEventListener("click", (event) => this.open(event));
    // A person who opens another page does not wait for the new one.
    for (const name of ["back", "forward", "reload"]) root.querySelector(`[data-site-${name}]`)!.addEventListener("click", () => (this.awaited = ""));
    root.querySelector("#site-path")!.addEventListener("change", () => (this.awaited = ""));
  }

  /** Read the texts of a page that has loaded. */
  follow(texts: readonly MarkedText[]): void {
    const own = texts.filter(({ path }) => path === this.awaited);
    if (!this.awaited || !own.length) return;
    this.awaited = "";
    if (own.every(({ block }) => block === null)) this.page.say(text("The new page has no text yet. “All fields” opens it."));
  }

  private open(event: MouseEvent): void {
    const link = (event.target as Element).closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    event.stopPropagation();
    link.closest("details")!.open = false;
    void import("./new-entry.ts").then(({ openNewEntry }) => openNewEntry(link, (url, title) => void this.show(url, title)));
  }

  /** Load the page until the site shows it. */
  private async show(editUrl: string, title: string): Promise<void> {
    const path = decodeURIComponent(new URL(editUrl).pathname.split("/edit/")[1] ?? "");
    this.page.say(text("The site builds the new page …"));
    const address = await this.page.addNew(path, title);
    this.awaited = path;
    for (let loads = 0; loads < MAX_LOADS && this.awaited === path; loads++) {
      await new Promise((resolve) => setTimeout(resolve, loads ? BUILD_MS : BUILD_MS / 3));
      if (this.awaited === path) this.page.load(address);
    }
    await new Promise((resolve) => setTimeout(resolve, BUILD_MS));
    if (this.awaited !== path) return;
    this.awaited = "";
    this.page.say(text("The site does not show the new page at {address}. “All fields” opens it.", { address }));
    this.page.showEntry(title, "", editUrl);
  }
}
