// Keyboard control of lists: j and k or the arrows move, Enter opens, x selects, / searches, ? opens the help.
import { text } from "./texts.ts";

/** Listen for the shortcuts wherever no text is typed, and for the link to the help. */
export function initLists(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog, iframe")) return;
    if (handle(event.key, target)) event.preventDefault();
  });
  document.querySelector("a[data-help]")?.addEventListener("click", (event) => {
    const { ctrlKey, metaKey, shiftKey } = event as MouseEvent;
    if (ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    openHelp();
  });
  document.addEventListener("change", (event) => {
    if ((event.target as Element).matches(".table__select")) showSelection(event.target as HTMLInputElement);
  });
  document.addEventListener("formdata", joinSelection);
  document.addEventListener("reset", () => setTimeout(() => showSelection()));
}

/** Send the selected entries as one field: a form with a field for each of them can have more fields than the service accepts. */
function joinSelection({ formData }: FormDataEvent): void {
  const paths = formData.getAll("select");
  if (paths.length < 2) return;
  formData.delete("select");
  formData.append("select[]", JSON.stringify(paths));
}

/** Show the number of selected entries. The box for all entries of a filter ticks those of the page, too. */
function showSelection(changed?: HTMLInputElement): void {
  const message = document.querySelector<HTMLElement>("[data-selected-count]");
  const all = document.querySelector<HTMLInputElement>("[data-select-all]");
  if (!message) return;
  const rows = [...document.querySelectorAll<HTMLInputElement>("#rows .table__select")];
  if (changed && changed === all) for (const row of rows) row.checked = changed.checked;
  else if (all && changed && !changed.checked) all.checked = false;
  const count = all?.checked ? Number(all.dataset.selectAll) : rows.filter((row) => row.checked).length;
  message.textContent = text("{count} selected", { count });
}

function openHelp(): void {
  void import("./help.ts").then((help) => help.openHelp());
}

function handle(key: string, target: HTMLElement): boolean {
  if (key === "?") {
    openHelp();
    return true;
  }
  if (key === "/") {
    const search = document.querySelector<HTMLElement>("main input[type=search]");
    search?.focus();
    return search !== null;
  }
  const link = ".table__main a, .entry-card > a";
  const rows = [...document.querySelectorAll<HTMLElement>(".table tbody tr, .entry-card")].filter((row) => row.querySelector(link));
  if (!rows.length) return false;
  const current = rows.findIndex((row) => row.contains(target));
  const isArrow = key === "ArrowDown" || key === "ArrowUp";
  if (key === "j" || key === "k" || (isArrow && current >= 0)) {
    const step = key === "j" || key === "ArrowDown" ? 1 : -1;
    const next = rows[Math.min(rows.length - 1, Math.max(0, current + step))]!;
    next.querySelector<HTMLElement>(link)!.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }
  if (key === "x" && current >= 0) {
    rows[current]!.querySelector<HTMLInputElement>(".table__select")?.click();
    return true;
  }
  return false;
}
