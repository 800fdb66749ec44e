// A part of the side panel that the service renders when the panel shows it: the latest versions of the page, and the page in
// another language.
import type { PanelPart } from "./editor-panel.ts";
import { text } from "./texts.ts";

export class LoadedPanel implements PanelPart {
  private readonly name: string;
  private readonly part: HTMLElement;
  private isPresent: boolean;

  /** A part that the page shows at first is complete. Its links that name the part replace it without loading the page. */
  constructor(name: string, part: HTMLElement) {
    this.name = name;
    this.part = part;
    this.isPresent = !part.hidden;
    part.addEventListener("click", (event) => {
      const link = (event.target as HTMLElement).closest<HTMLAnchorElement>("a[href*='panel=']");
      if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      void this.load(new URL(link.href));
    });
  }

  open(): void {
    if (!this.isPresent) void this.load();
    this.isPresent = false;
  }

  close(): void {}

  /** Replace the content by the present one. */
  private async load(url = new URL(location.href)): Promise<void> {
    url.searchParams.set("panel", this.name);
    const response = await fetch(url, { credentials: "same-origin" }).catch(() => null);
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    const part = page?.querySelector(`[data-panel-part=${this.name}]`);
    if (part) this.part.replaceChildren(...[...part.childNodes].map((node) => document.importNode(node, true)));
    else this.part.prepend(text("The service does not respond. Your text is still here."));
  }
}
