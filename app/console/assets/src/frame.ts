// The frame of a page: the sidebar as a drawer on narrow screens, and menus that close by themselves.
import { create } from "./dom.ts";

/** Let the button open the sidebar. Escape, the area next to it and a second press close it. */
export function initDrawer(): void {
  const button = document.querySelector<HTMLButtonElement>(".drawer-toggle");
  const sidebar = document.querySelector<HTMLElement>(".sidebar");
  if (!button || !sidebar) return;
  const current = sidebar.querySelector('[aria-current="page"]');
  // The current page can be in the hidden part of a long navigation.
  for (let area = current?.parentElement; current && area && area !== sidebar.parentElement; area = area.parentElement) {
    const item = current.getBoundingClientRect();
    const { top, bottom } = area.getBoundingClientRect();
    if (item.top < top || item.bottom > bottom) area.scrollTop += (item.top + item.bottom - top - bottom) / 2;
  }
  const shade = create("div", { class: "drawer-shade", hidden: true });
  document.body.append(shade);
  button.hidden = false;
  const setOpen = (isOpen: boolean) => {
    sidebar.classList.toggle("sidebar--open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
    shade.hidden = !isOpen;
    if (isOpen) sidebar.querySelector<HTMLElement>("a, summary, button")?.focus();
    else if (sidebar.contains(document.activeElement)) button.focus();
  };
  button.addEventListener("click", () => setOpen(button.getAttribute("aria-expanded") !== "true"));
  shade.addEventListener("click", () => setOpen(false));
  sidebar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") setOpen(false);
  });
}

/** Close an open menu after a click elsewhere and on Escape. */
export function initMenus(): void {
  const close = (except: Node | null) => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
      if (!except || !menu.contains(except)) menu.open = false;
    }
  };
  document.addEventListener("click", (event) => close(event.target as Node));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.activeElement?.closest<HTMLDetailsElement>("details.menu[open]");
    close(null);
    menu?.querySelector("summary")?.focus();
  });
}
