// The editable preview of the page of the site: its start with the steps, its lease, and its end.
import { showStep } from "./preview-page.ts";
import { post, type StartMessage, startPreview } from "./preview-start.ts";
import { text } from "./texts.ts";

const HEARTBEAT_MS = 120_000;
const PARTS = ["bar", "entry", "stage"];

/** What the page does for the preview. */
export interface PreviewOwner {
  /** A preview runs at an address. */
  started(address: string): Promise<void>;
  ended(): void;
  say(message: string): void;
}

export class SitePreview {
  private readonly root: HTMLElement;
  private readonly owner: PreviewOwner;
  private sandboxId = "";
  private heartbeat = 0;

  constructor(root: HTMLElement, owner: PreviewOwner) {
    [this.root, this.owner] = [root, owner];
    this.element("[data-site-start]").addEventListener("click", () => void this.start());
  }

  /** Connect to the editable preview or start it. The service names each step. */
  async start(): Promise<void> {
    this.element("[data-site-start]").hidden = true;
    this.element("[data-preview-steps]").hidden = false;
    this.owner.say("");
    let last: StartMessage = { error: text("The preview could not be started.") };
    try {
      for await (last of startPreview(this.root.dataset.project!, { editable: true })) if (last.step && !last.error) showStep(this.root, last);
    } catch (error) {
      last = { error: error instanceof Error && !(error instanceof TypeError) ? error.message : text("The preview could not be started.") };
    }
    this.element("[data-preview-steps]").hidden = true;
    if (last.previewUrl) return this.run(last);
    this.owner.say([last.error, last.hint].filter(Boolean).join("\n") || text("The preview could not be started."));
    this.element("[data-site-start]").hidden = false;
    this.showForms("");
  }

  end(): void {
    clearInterval(this.heartbeat);
    this.owner.ended();
    for (const name of PARTS) this.element(`[data-site-${name}]`).hidden = true;
    this.element("[data-site-start]").hidden = false;
    this.owner.say(text("The preview has ended."));
  }

  private async run({ previewUrl, sandboxId, editable, editableReason }: StartMessage): Promise<void> {
    this.sandboxId = sandboxId ?? "";
    for (const name of PARTS) this.element(`[data-site-${name}]`).hidden = false;
    if (editable === false) this.showForms(editableReason ?? "");
    await this.owner.started(previewUrl!);
    clearInterval(this.heartbeat);
    this.heartbeat = window.setInterval(() => void this.extend(), HEARTBEAT_MS);
  }

  /** Texts of the site open in the form: it does not run, or it has no marks. */
  private showForms(reason: string): void {
    this.element("[data-site-forms]").classList.remove("without-script");
    this.element("[data-site-reason]").textContent = reason;
  }

  private async extend(): Promise<void> {
    if (document.hidden) return;
    const response = await post("/api/sandbox/heartbeat", { sandboxId: this.sandboxId }).catch(() => null);
    if (response?.ok && !(await response.json()).result.ok) this.end();
  }

  private element(selector: string): HTMLElement {
    return this.root.querySelector<HTMLElement>(selector)!;
  }
}
