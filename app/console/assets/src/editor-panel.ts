// The side panel of the editor: one part at a time, named by `?panel=`. On narrow screens it takes the place of the text.

/** A part of the panel. It starts when the panel shows it and stops when the panel hides it. */
export interface PanelPart {
  open(): void;
  close(): void;
}

const NARROW = matchMedia("(width < 900px)");

/** Let the buttons with `data-panel-toggle` show a part without loading the page again. */
export function initPanel(form: HTMLFormElement, parts: Record<string, PanelPart>): void {
  const toggles = [...form.querySelectorAll<HTMLButtonElement>("button[data-panel-toggle]")];
  const panels = [...form.querySelectorAll<HTMLElement>("[data-panel-part]")];
  const home = new URL(location.href);
  let shown = "";
  const mark = () => {
    const current = shown || (NARROW.matches || !panels.some((part) => part.dataset.panelPart === "fields") ? "" : "fields");
    for (const toggle of toggles) {
      if (toggle.dataset.panelToggle === current) toggle.setAttribute("aria-current", "true");
      else toggle.removeAttribute("aria-current");
    }
  };
  const show = (name: string) => {
    if (name !== shown) parts[shown]?.close();
    shown = form.dataset.panel = name;
    for (const part of panels) part.hidden = part.dataset.panelPart !== (name || "fields");
    mark();
    if (name) home.searchParams.set("panel", name);
    else home.searchParams.delete("panel");
    home.searchParams.delete("done");
    history.replaceState(history.state, "", home);
    const action = new URL(form.action);
    action.search = home.search;
    form.action = action.href;
    if (NARROW.matches) scrollTo(0, 0);
    parts[name]?.open();
  };
  for (const toggle of toggles) {
    toggle.addEventListener("click", (event) => {
      event.preventDefault();
      show(toggle.dataset.panelToggle ?? "");
    });
  }
  NARROW.addEventListener("change", mark);
  // The browser cannot show its message at a field that is hidden.
  form.addEventListener(
    "invalid",
    (event) => {
      const field = event.target as HTMLElement;
      const part = field.closest<HTMLElement>("[data-panel-part]");
      if (part?.hidden || (part && NARROW.matches && !shown)) show("fields");
      for (let group = field.closest("details"); group; group = group.parentElement!.closest("details")) group.open = true;
    },
    { capture: true },
  );
  const first = form.dataset.panel ?? "";
  if (first in parts) show(first);
  else {
    shown = first;
    mark();
  }
}
