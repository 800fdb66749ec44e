// The help of the console as a dialog: the text of its page.
import { createDialog, show } from "./dom.ts";
import { text } from "./texts.ts";

/** Show the help. If it cannot be read, open its page. */
export async function openHelp(): Promise<void> {
  const link = document.querySelector<HTMLAnchorElement>("a[data-help]");
  if (!link || document.querySelector("dialog[open]")) return;
  const response = await fetch(link.href, { credentials: "same-origin" }).catch(() => null);
  const html = response?.ok && !response.redirected ? await response.text() : "";
  const help = new DOMParser().parseFromString(html, "text/html").querySelector("[data-help-text]");
  if (!help) return location.assign(link.href);
  await show(createDialog(link.textContent!.trim(), [document.importNode(help, true)], [["", text("Close")]]));
}
