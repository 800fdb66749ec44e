// The form of a file of which only the field or the block of a source mark is visible.
import type { MarkedText } from "./marked-texts.ts";
import type { onlyBlock } from "./only-block.ts";
import { plain } from "./page-channel.ts";

export interface BlockEditor extends HTMLElement {
  only?: ReturnType<typeof onlyBlock>;
  flush(): void;
  textOf(index: number): string | null;
}

const ROOT = "items";

/** Return the form of a page with the present text or the draft of the user, or null without one. */
export async function loadForm(url: string): Promise<HTMLFormElement | null> {
  const response = await fetch(url, { credentials: "same-origin" }).catch(() => null);
  const page = response?.ok && new URL(response.url).pathname === new URL(url, location.href).pathname ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  const form = page?.querySelector<HTMLFormElement>("form[data-editor]");
  for (const part of form?.querySelectorAll("[data-panel-part]:not([data-panel-part=fields])") ?? []) part.remove();
  return form ? document.importNode(form, true) : null;
}

/** Return the field of a value, or the entry of a list of objects with the value. The inputs name entries by ids, the pointer by positions. */
export function fieldOf(form: HTMLFormElement, pointer: string): HTMLElement | null {
  const input = (name: string) => form.querySelector<HTMLInputElement>(`[name="${CSS.escape(name)}"]`);
  const keys = pointer.split("/").slice(1);
  if (/^\d+$/.test(keys[0] ?? "")) keys.unshift(ROOT);
  let [path, item] = ["", null as HTMLElement | null];
  for (const key of keys) {
    const order = path ? input(`items.${path}`) : null;
    path = [path, order ? order.value.split(",")[Number(key)] : key].filter(Boolean).join("/");
    if (order) item = document.getElementById(`group.${path}`) ?? form.querySelector<HTMLElement>(`[id="${CSS.escape(`group.${path}`)}"]`);
    const control = input(`fm.${path}`);
    if (control && !item) return control.closest<HTMLElement>(".field");
  }
  return item && !("closed" in item.dataset) ? item : null;
}

/** Hide everything of a form but a part. */
export function showOnly(form: HTMLFormElement, part: HTMLElement): void {
  for (let element = part; element !== form; element = element.parentElement!) {
    element.hidden = false;
    if (element instanceof HTMLDetailsElement) element.open = true;
    for (const other of element.parentElement!.children) if (other !== element && other instanceof HTMLElement) other.hidden = true;
  }
  for (const actions of part.querySelectorAll<HTMLElement>(":scope > .group__content > .form__actions, :scope > summary")) actions.hidden = true;
}

export function textOf(part: HTMLElement, { block }: MarkedText): string {
  if (block !== null) return (part as BlockEditor).textOf(block) ?? "";
  return [...part.querySelectorAll<HTMLInputElement>("[name^='fm.']")].map(({ value }) => value).join(" ");
}

/** Return whether a text of the page is a part of that of the file. */
export function isSame(own: string, page: string): boolean {
  return plain(page) !== "" && plain(own).includes(plain(page));
}
