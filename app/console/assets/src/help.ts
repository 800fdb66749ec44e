// The help of the console as a dialog: the text of its page.
import { createDialog, show, toast } from "./dom.ts";
import { text } from "./texts.ts";

let isReading = false;

/** Show the help. If it cannot be read, the page with what was typed stays open. */
export async function openHelp(): Promise<void> {
  const link = document.querySelector<HTMLAnchorElement>("a[data-help]");
  if (!link || isReading || document.querySelector("dialog[open]")) return;
  isReading = true;
  const response = await fetch(link.href, { credentials: "same-origin" }).catch(() => null);
  const html = response?.ok && !response.redirected ? await response.text().catch(() => "") : "";
  isReading = false;
  const help = new DOMParser().parseFromString(html, "text/html").querySelector("[data-help-text]");
  if (!help) return toast(text("The service does not respond. Your text is still here."));
  await show(createDialog(link.textContent!.trim(), [document.importNode(help, true)], [["", text("Close")]]));
}
