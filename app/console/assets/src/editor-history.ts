// The latest versions of the page beside the text. The service renders them when the panel shows them.
import type { PanelPart } from "./editor-panel.ts";
import { text } from "./texts.ts";

export class HistoryPanel implements PanelPart {
  private readonly part: HTMLElement;
  private isPresent: boolean;

  /** A part that the page shows at first contains the present versions. */
  constructor(part: HTMLElement) {
    this.part = part;
    this.isPresent = !part.hidden;
  }

  open(): void {
    if (!this.isPresent) void this.load();
    this.isPresent = false;
  }

  close(): void {}

  /** Replace the list by the present one. */
  private async load(): Promise<void> {
    const url = new URL(location.href);
    url.searchParams.set("panel", "history");
    const response = await fetch(url, { credentials: "same-origin" }).catch(() => null);
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    const part = page?.querySelector("[data-panel-part=history]");
    if (part) this.part.replaceChildren(...[...part.childNodes].map((node) => document.importNode(node, true)));
    else this.part.prepend(text("The service does not respond. Your text is still here."));
  }
}
