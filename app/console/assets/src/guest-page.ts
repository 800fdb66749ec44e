// The page of a review link: the text that is selected in the frame becomes the quotation of a comment.
import { text } from "./texts.ts";

interface FrameMessage {
  galley?: number;
  kind?: string;
  page?: string;
  exact?: string;
  prefix?: string;
  suffix?: string;
}

/** Let the form receive the page and the text that the frame reports. Messages of other windows are ignored. */
export function initGuestPage(form: HTMLFormElement): void {
  const frame = document.querySelector<HTMLIFrameElement>("[data-guest-frame]");
  const quote = form.querySelector<HTMLElement>("[data-guest-quote]");
  if (!frame || !quote) return;
  const origin = new URL(frame.src).origin;
  const shown = quote.querySelector("blockquote")!;
  const button = document.querySelector<HTMLButtonElement>("[data-guest-select]")!;
  const set = (name: string, value: string) => {
    form.querySelector<HTMLInputElement>(`input[name="${name}"]`)!.value = value.slice(0, 2_048);
  };
  const clear = () => {
    for (const name of ["exact", "prefix", "suffix"]) set(name, "");
    quote.hidden = button.hidden = true;
  };
  window.addEventListener("message", (event: MessageEvent<FrameMessage>) => {
    const message = event.data;
    if (event.source !== frame.contentWindow || event.origin !== origin || message?.galley !== 1) return;
    if (typeof message.page === "string") set("page", message.page);
    if (message.kind === "page" || message.kind === "none") return clear();
    if (message.kind !== "text" || typeof message.exact !== "string" || !message.exact) return;
    set("exact", message.exact);
    set("prefix", typeof message.prefix === "string" ? message.prefix : "");
    set("suffix", typeof message.suffix === "string" ? message.suffix : "");
    shown.textContent = message.exact;
    quote.hidden = button.hidden = false;
    button.textContent = text("Comment on the selected text");
  });
  button.addEventListener("click", () => form.querySelector("textarea")!.focus());
  quote.querySelector("button")!.addEventListener("click", clear);
}
