// The dialog of a new entry: the form of its page, with the path of the file while the title is typed.
import { create, formBody, show } from "./dom.ts";
import { text } from "./texts.ts";

const PATH_DELAY_MS = 200;

/** Show the form of a new entry as a dialog. If it cannot be read, open its page. `created` receives the address of the editor. */
export async function openNewEntry(link: HTMLAnchorElement, created = (url: string, _title: string): void => location.assign(url)): Promise<void> {
  const response = await fetch(link.href, { credentials: "same-origin" }).catch(() => null);
  const form = response?.ok && !response.redirected ? formOf(await response.text()) : null;
  if (!form) return location.assign(link.href);
  const close = create("button", { class: "button", type: "button", click: () => dialog.close() }, text("Cancel"));
  const dialog = create("dialog", { class: "dialog", "aria-labelledby": "new-entry" }, create("h2", { class: "dialog__title", id: "new-entry" }, link.textContent!.trim()), form);
  prepare(form, link.href);
  form.querySelector(".form__actions")!.prepend(close);
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    const sent = event.target as HTMLFormElement;
    const title = sent.querySelector<HTMLInputElement>("[name=title]")!.value;
    const end = (url: string) => (dialog.close(), created(url, title));
    void send(sent, end, (again) => {
      prepare(again, link.href);
      again.querySelector(".form__actions")!.prepend(close);
    });
  });
  const closed = show(dialog);
  form.querySelector<HTMLElement>("[name=title]")?.focus();
  await closed;
}

function formOf(html: string): HTMLFormElement | null {
  const form = new DOMParser().parseFromString(html, "text/html").querySelector<HTMLFormElement>("form[data-new-form]");
  return form && document.importNode(form, true);
}

/** Send the form. The service leads to the editor, or returns the form with its errors. */
async function send(form: HTMLFormElement, created: (url: string) => void, showAgain: (form: HTMLFormElement) => void): Promise<void> {
  const response = await fetch(form.action, { method: "POST", body: formBody(form), credentials: "same-origin" }).catch(() => null);
  if (response?.redirected) return created(response.url);
  const again = response && response.status < 500 ? formOf(await response.text()) : null;
  if (!again) return form.submit();
  form.replaceWith(again);
  showAgain(again);
  (again.querySelector<HTMLElement>("[aria-invalid]") ?? again.querySelector<HTMLElement>("[name=title]"))?.focus();
}

/** Show the address that follows from the title, the path of the file, and the draft state if the collection has one. */
function prepare(form: HTMLFormElement, url: string): void {
  const name = form.querySelector<HTMLInputElement>("[name=name]")!;
  const draft = form.querySelector<HTMLElement>("[data-new-draft]")!;
  let timer = 0;
  const read = async () => {
    const address = new URL(url);
    for (const field of ["folder", "collection", "title"]) {
      const value = new FormData(form).get(field);
      if (typeof value === "string") address.searchParams.set(field, value);
    }
    const response = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response?.ok) return;
    const { path, address: shown, knowsDrafts } = await response.json();
    name.placeholder = shown;
    const file = form.querySelector<HTMLElement>("[data-new-path]");
    if (file) file.textContent = path;
    draft.hidden = !knowsDrafts;
    draft.querySelector<HTMLInputElement>("[name=knows_drafts]")!.disabled = !knowsDrafts;
  };
  form.addEventListener("input", (event) => {
    if (event.target === name) return;
    clearTimeout(timer);
    timer = window.setTimeout(() => void read(), PATH_DELAY_MS);
  });
  void read();
}
