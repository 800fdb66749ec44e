// The side panel of the editor: one part at a time, named by `?panel=`. On narrow screens it takes the place of the text.

/** A part of the panel. It starts when the panel shows it and stops when the panel hides it. */
export interface PanelPart {
  open(): void;
  close(): void;
}

/** Let the links with `data-panel-toggle` show a part without loading the page again. */
export function initPanel(form: HTMLFormElement, parts: Record<string, PanelPart>): void {
  const panel = document.querySelector<HTMLElement>(".editor__panel");
  if (!panel) return;
  const toggles = [...document.querySelectorAll<HTMLAnchorElement>("a[data-panel-toggle]")];
  const home = new URL(location.href);
  let shown = "";
  const show = (name: string) => {
    parts[shown]?.close();
    shown = name;
    panel.hidden = !name;
    for (const part of panel.querySelectorAll<HTMLElement>("[data-panel-part]")) part.hidden = part.dataset.panelPart !== name;
    for (const toggle of toggles) {
      if (toggle.dataset.panelToggle === name) toggle.setAttribute("aria-current", "true");
      else toggle.removeAttribute("aria-current");
    }
    if (name) home.searchParams.set("panel", name);
    else home.searchParams.delete("panel");
    home.searchParams.delete("done");
    history.replaceState(history.state, "", home);
    const action = new URL(form.action);
    action.search = home.search;
    form.action = action.href;
    if (name && matchMedia("(width < 1200px)").matches) scrollTo(0, 0);
    parts[name]?.open();
  };
  for (const toggle of toggles) {
    toggle.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      const name = toggle.dataset.panelToggle ?? "";
      // A tab shows its part. A button in the header also hides it.
      show(name === shown && !toggle.classList.contains("tabs__link") ? "" : name);
      if (!toggle.offsetParent) panel.querySelector<HTMLElement>("[aria-current]")?.focus();
    });
  }
  const first = home.searchParams.get("panel") ?? "";
  if (first in parts) show(first);
}
