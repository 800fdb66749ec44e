// Buttons that copy the value of an input. Without scripts they are hidden, and the input can be selected.
import { toast } from "./dom.ts";

/** Show the buttons with `data-copy`, the id of an input. */
export function initCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
    const input = document.querySelector<HTMLInputElement>(`#${button.dataset.copy}`);
    if (!input) continue;
    button.hidden = false;
    button.addEventListener("click", () => void copy(input).then(() => toast(button.dataset.done ?? "")));
  }
}

/** Copy the value. Pages without https have no clipboard, so the text is selected and the key combination copies it. */
async function copy(input: HTMLInputElement): Promise<void> {
  input.select();
  if (navigator.clipboard) await navigator.clipboard.writeText(input.value);
  else if (!document.execCommand("copy")) throw new Error("The browser does not copy");
}
