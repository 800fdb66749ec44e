// The dialog of links: it finds pages by their title and accepts the text and an address.
import type { Choice } from "./choices.ts";
import { createCombobox } from "./combobox.ts";
import { create, createDialog, show } from "./dom.ts";
import { isSafe } from "./markdown/links.ts";
import { text } from "./texts.ts";

export interface ChosenLink {
  text: string;
  href: string;
}

interface LinkOptions extends ChosenLink {
  /** Whether the link exists and can be removed. */
  isPresent: boolean;
  /** Whether the text contains more than characters, for example an image, and cannot be edited here. */
  hasFixedText?: boolean;
}

/** Ask for a link. Returns "remove", or null if the user cancels. `editor` has the path of the page and the URL of the search. */
export async function askForLink(editor: HTMLElement, link: LinkOptions): Promise<ChosenLink | "remove" | null> {
  const search = create("input", { class: "input", type: "text", id: "link-search", dir: "auto", placeholder: text("Title of the page") });
  const address = create("input", { class: "input", type: "text", inputmode: "url", id: "link-address", autocomplete: "off", dir: "ltr" });
  const label = create("input", { class: "input", type: "text", id: "link-text", autocomplete: "off", dir: "auto" });
  const status = create("p", { class: "field__error", role: "alert", id: "link-error", hidden: true });
  address.value = link.href;
  label.value = link.text;
  const choose = ({ value, title }: Choice) => {
    address.value = value;
    search.value = title;
    if (!label.value.trim()) label.value = title;
    address.focus();
  };
  const list = createCombobox({ input: search, search: (query, signal) => findPages(editor, query, signal), choose });
  const found = create("div", { class: "field relation" }, create("label", { class: "field__label", for: "link-search" }, text("Page of this site")), search, list);
  const fields = [
    ...(editor.dataset.linksUrl ? [found] : []),
    create("div", { class: "field" }, create("label", { class: "field__label", for: "link-address" }, text("Address")), address, status),
    ...(link.hasFixedText ? [] : [create("div", { class: "field" }, create("label", { class: "field__label", for: "link-text" }, text("Text")), label)]),
  ];
  const buttons: [string, string][] = [["", text("Cancel")], ...(link.isPresent ? [["remove", text("Remove link")] as [string, string]] : []), ["set", text("Apply")]];
  const dialog = createDialog(text("Link"), fields, buttons);
  dialog.classList.add("dialog--wide");
  const apply = dialog.querySelector<HTMLButtonElement>('button[value="set"]')!;
  apply.addEventListener("click", (event) => {
    const href = address.value.trim();
    if (href && isSafe(href)) return;
    event.preventDefault();
    status.textContent = href ? text("This address cannot be used for a link.") : text("Choose a page or enter an address.");
    status.hidden = false;
    address.setAttribute("aria-describedby", status.id);
    address.focus();
  });
  // Enter applies the link, or opens the list for typed words. Without this, the browser would press the first button.
  for (const input of [search, address, label]) {
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (input === search && search.value.trim()) search.click();
      else if (input !== search || address.value.trim()) apply.click();
    });
  }
  const answer = show(dialog);
  (link.href || !editor.dataset.linksUrl ? address : search).focus();
  const value = await answer;
  if (value === "remove") return "remove";
  return value === "set" ? { text: label.value.trim() || address.value.trim(), href: address.value.trim() } : null;
}

async function findPages(editor: HTMLElement, query: string, signal: AbortSignal): Promise<Choice[]> {
  const parameters = new URLSearchParams({ file: editor.dataset.path ?? "", q: query });
  const response = await fetch(`${editor.dataset.linksUrl}?${parameters}`, { signal, headers: { Accept: "application/json" } });
  const { pages }: { pages: { title: string; path: string; url: string }[] } = await response.json();
  return pages.map(({ title, path, url }) => ({ value: url, title, detail: path }));
}
