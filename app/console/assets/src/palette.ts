// Command palette: the links of the page and the files of the project, filtered by typed text.
import { create, icon, show } from "./dom.ts";
import { text } from "./texts.ts";

interface Command {
  label: string;
  group: string;
  icon: string;
  run: () => void;
}

const SEARCH_DELAY_MS = 200;
const MIN_CHARACTERS = 2;
const MAX_COMMANDS = 12;
const MAX_FILES = 20;

/** Open the palette. `<body data-palette-url>` names the search for files: `?q=` returns `{files: [{title, path, url}]}`. */
export async function openPalette(): Promise<void> {
  if (document.querySelector("dialog[open]")) return;
  const input = create("input", {
    class: "input", type: "search", "aria-label": text("Search and commands"), placeholder: text("Search and commands"), autocomplete: "off",
  });
  const dialog = create("dialog", { class: "dialog palette", "aria-label": text("Search and commands") }, input);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const search = initResults(input, "palette", pageCommands(), () => dialog.close());
  search();
  await show(dialog);
}

/** Show the files that match the field of the sidebar below it. Without a selected file, Enter sends the form. */
export function initSearchField(input: HTMLInputElement): void {
  const search = initResults(input, "found", [], () => close());
  const close = () => {
    input.value = "";
    search();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.addEventListener("click", (event) => {
    if (!input.form?.contains(event.target as Node)) close();
  });
  if (input.value) search();
}

/** Let a field list the commands, and the files of the project, that match its text. Return the function that updates the list. */
function initResults(input: HTMLInputElement, id: string, commands: Command[], close: () => void): () => void {
  const first = commands.length ? 0 : -1;
  const list = create("ul", { class: "palette__list", role: "listbox", id: `${id}-list`, "aria-label": text("Results") });
  for (const [name, value] of [["role", "combobox"], ["aria-controls", list.id], ["aria-expanded", "false"]] as const) input.setAttribute(name, value);
  input.after(list);
  let shown: Command[] = [];
  let active = first;
  let request = new AbortController();
  let timer = 0;
  const render = () => {
    list.replaceChildren(
      ...shown.map((command, index) =>
        create(
          "li",
          {
            class: "palette__item", role: "option", id: `${id}-${index}`, "aria-selected": String(index === active),
            click: () => choose(index),
          },
          icon(command.icon), create("bdi", { class: "palette__label" }, command.label), create("small", { title: command.group }, command.group),
        ),
      ),
    );
    if (shown[active]) input.setAttribute("aria-activedescendant", `${id}-${active}`);
    else input.removeAttribute("aria-activedescendant");
    if (!shown.length) list.append(create("li", { class: "palette__item muted", role: "option", "aria-disabled": "true" }, text("No results.")));
    list.hidden = first < 0 && !shown.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (index: number) => {
    const command = shown[index];
    close();
    command?.run();
  };
  const search = () => {
    const query = input.value.trim();
    const parts = query.toLocaleLowerCase().split(/\s+/);
    shown = commands.filter(({ label }) => parts.every((part) => label.toLocaleLowerCase().includes(part))).slice(0, MAX_COMMANDS);
    active = first;
    render();
    request.abort();
    clearTimeout(timer);
    if (query.length >= MIN_CHARACTERS) timer = window.setTimeout(() => void addFiles(query), SEARCH_DELAY_MS);
  };
  const addFiles = async (query: string) => {
    const own = (request = new AbortController());
    const files = await fileCommands(query, own.signal);
    if (own.signal.aborted) return;
    shown = [...shown, ...files];
    render();
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter" && (first === 0 || active >= 0)) choose(active);
    else if (!step) return;
    else active = shown.length ? (Math.max(active, step < 0 ? 0 : -1) + step + shown.length) % shown.length : first;
    event.preventDefault();
    render();
  });
  return search;
}

function pageCommands(): Command[] {
  const seen = new Set<string>();
  const elements = document.querySelectorAll<HTMLAnchorElement | HTMLButtonElement>(
    ".content-header__actions :is(a, button), .sidebar :is(.sidebar__list, .menu__list) a, .tabs :is(a, button), .breadcrumb a",
  );
  const commands: Command[] = [];
  for (const element of elements) {
    const label = (element.getAttribute("aria-label") ?? element.textContent ?? "").replace(/\s+/g, " ").trim();
    if (!label || seen.has(label) || element.closest("[hidden]")) continue;
    seen.add(label);
    const isAction = element.closest(".content-header__actions") !== null;
    commands.push({
      label,
      group: isAction ? text("Action") : text("Page"),
      icon: isAction ? "sparkles" : "chevron-right",
      run: () => element.click(),
    });
  }
  return commands;
}

/** Return the files that the search of the service finds, and the page with all results. */
async function fileCommands(query: string, signal: AbortSignal): Promise<Command[]> {
  const url = document.body.dataset.paletteUrl;
  if (!url) return [];
  const page = `${url}?q=${encodeURIComponent(query)}`;
  const all = { label: text("Search for “{query}”", { query }), group: text("Page"), icon: "search", run: () => location.assign(page) };
  try {
    const response = await fetch(page, { signal, headers: { Accept: "application/json" } });
    if (!response.ok) return [all];
    const { files }: { files: { title: string; group: string; url: string }[] } = await response.json();
    const commands = files.slice(0, MAX_FILES).map((file) => ({
      label: file.title,
      group: file.group,
      icon: "file-text",
      run: () => location.assign(file.url),
    }));
    return [...commands, all];
  } catch {
    return [all];
  }
}
