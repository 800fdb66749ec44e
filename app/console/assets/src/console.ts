// Entry point of every page. Editors and the palette are separate chunks that load only where they are used.
import "htmx.org";
import { initCopyButtons } from "./copy-button.ts";
import { dismissLater } from "./dom.ts";
import { initDrawer, initMenus } from "./frame.ts";
import { initLists } from "./lists.ts";
import { initPasskeys } from "./passkeys.ts";
import { initResetLink } from "./reset-link.ts";
import { initTimeZone } from "./time-zone.ts";

document.documentElement.classList.add("has-script");
initDrawer();
initMenus();
initLists();
initResetLink();
initCopyButtons();
initTimeZone();
initPasskeys();
// Without scripts the dialog stands in the page.
for (const dialog of document.querySelectorAll<HTMLDialogElement>("dialog[data-modal]")) {
  dialog.close();
  dialog.showModal();
}
for (const element of document.querySelectorAll<HTMLElement>(".toast")) dismissLater(element);

const preview = document.querySelector<HTMLElement>("[data-preview-page]");
if (preview) void import("./preview-page.ts").then(({ initPreviewPage }) => initPreviewPage(preview));
const site = document.querySelector<HTMLElement>("[data-site-page]");
if (site) void import("./site-page.ts").then(({ initSitePage }) => initSitePage(site));
if (document.querySelector("galley-rich-editor")) void import("./rich-editor.ts");
if (document.querySelector("galley-source-editor")) void import("./source-editor.ts");
if (document.querySelector("form[data-editor]")) void import("./editor-form.ts");

const guest = document.querySelector<HTMLFormElement>("form[data-guest-comment]");
if (guest) void import("./guest-page.ts").then(({ initGuestPage }) => initGuestPage(guest));

document.addEventListener("keydown", (event) => {
  // In a text, the keys add a link.
  if (event.defaultPrevented) return;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    void import("./palette.ts").then(({ openPalette }) => openPalette());
  }
});
document.querySelector<HTMLInputElement>("#sidebar-search")?.addEventListener(
  "focus",
  ({ target }) => void import("./palette.ts").then(({ initSearchField }) => initSearchField(target as HTMLInputElement)),
  { once: true },
);
for (const link of document.querySelectorAll("a[data-new-entry], a[data-help]")) link.setAttribute("aria-haspopup", "dialog");
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-new-entry]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  void import("./new-entry.ts").then(({ openNewEntry }) => openNewEntry(link));
});
