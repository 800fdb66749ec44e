// Command palette: the links of the page and the files of the project, filtered by typed text.
import { create, icon, show } from "./dom.ts";
import { text } from "./texts.ts";

interface Command {
  label: string;
  group: string;
  icon: string;
  run: () => void;
}

/** Open the palette. `<body data-palette-url>` names the search for files: `?q=` returns `[{title, path, url}]`. */
export async function openPalette(): Promise<void> {
  if (document.querySelector("dialog[open]")) return;
  const commands = pageCommands();
  const list = create("ul", { class: "palette__list", role: "listbox", id: "palette-list", "aria-label": text("Results") });
  const input = create("input", {
    class: "input", type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list",
    "aria-label": text("Search and commands"), placeholder: text("Search and commands"), autocomplete: "off",
  });
  const dialog = create("dialog", { class: "dialog palette", "aria-label": text("Search and commands") }, input, list);
  let shown: Command[] = [];
  let active = 0;
  const render = () => {
    list.replaceChildren(
      ...shown.map((command, index) =>
        create(
          "li",
          {
            class: "palette__item", role: "option", id: `palette-${index}`, "aria-selected": String(index === active),
            click: () => choose(index),
          },
          icon(command.icon), command.label, create("small", {}, command.group),
        ),
      ),
    );
    if (shown.length) input.setAttribute("aria-activedescendant", `palette-${active}`);
    else {
      input.removeAttribute("aria-activedescendant");
      list.append(create("li", { class: "palette__item muted" }, text("No results.")));
    }
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (index: number) => {
    const command = shown[index];
    dialog.close();
    command?.run();
  };
  let request = new AbortController();
  const search = async () => {
    const query = input.value.trim().toLocaleLowerCase();
    shown = commands.filter((command) => query.split(/\s+/).every((part) => command.label.toLocaleLowerCase().includes(part))).slice(0, 12);
    active = 0;
    render();
    request.abort();
    request = new AbortController();
    if (query.length < 2) return;
    const files = await fileCommands(query, request.signal);
    if (files.length) {
      shown = [...shown, ...files];
      render();
    }
  };
  input.addEventListener("input", () => void search());
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") choose(active);
    else if (!step) return;
    else active = shown.length ? (active + step + shown.length) % shown.length : 0;
    event.preventDefault();
    render();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  void search();
  await show(dialog);
}

function pageCommands(): Command[] {
  const seen = new Set<string>();
  const elements = document.querySelectorAll<HTMLAnchorElement | HTMLButtonElement>(
    ".content-header__actions :is(a, button), .sidebar__list a, .tabs a, .breadcrumb a",
  );
  const commands: Command[] = [];
  for (const element of elements) {
    const label = (element.getAttribute("aria-label") ?? element.textContent ?? "").replace(/\s+/g, " ").trim();
    if (!label || seen.has(label) || element.closest("[hidden]") || element.matches(".drawer-toggle, [data-open-palette]")) continue;
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

async function fileCommands(query: string, signal: AbortSignal): Promise<Command[]> {
  const url = document.body.dataset.paletteUrl;
  if (!url) return [];
  try {
    const response = await fetch(`${url}${url.includes("?") ? "&" : "?"}q=${encodeURIComponent(query)}`, { signal, headers: { Accept: "application/json" } });
    if (!response.ok) return [];
    const files: { title: string; path: string; url: string }[] = await response.json();
    return files.slice(0, 20).map((file) => ({
      label: file.title || file.path,
      group: file.path,
      icon: "file-text",
      run: () => location.assign(file.url),
    }));
  } catch {
    return [];
  }
}
