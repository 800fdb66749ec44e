// The message about links to missing pages follows the text. The service checks the links when they have changed.
const CHECK_DELAY_MS = 1500;
const RETRY_DELAY_S = 15;
const NOT_CHECKED = "\0";
const LINK = /\]\([^)\n]{0,500}|\]:[^\n]{0,500}|href=[^\s>]{0,500}|\{[{%][^}\n]{0,500}/g;

/** Check the links of the text of a form again after the user has changed them. */
export function initMissingLinks(form: HTMLFormElement, message: HTMLElement): void {
  const area = form.querySelector<HTMLTextAreaElement>("textarea[name=body]");
  if (!area) return;
  // The page contains the message about the text that it was loaded with.
  let checked = linksOf(area.defaultValue);
  let timer = 0;
  const checkAfter = (delayMs: number) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void check(), delayMs);
  };
  const check = async () => {
    const links = linksOf(area.value);
    if (links === checked) return;
    checked = links;
    const body = new URLSearchParams({ body: area.value });
    const response = await fetch(message.dataset.missingLinks!, { method: "POST", body, credentials: "same-origin" }).catch(() => null);
    if (links !== checked) return;
    if (!response?.ok || response.redirected) {
      checked = NOT_CHECKED;
      if (!response || response.status === 429 || response.status >= 500) checkAfter(1000 * (Number(response?.headers.get("Retry-After")) || RETRY_DELAY_S));
      return;
    }
    const isOpen = message.querySelector("details")?.open ?? false;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    message.replaceChildren(...[...page.body.childNodes].map((node) => document.importNode(node, true)));
    const details = message.querySelector("details");
    if (details) details.open = isOpen;
  };
  area.addEventListener("input", () => checkAfter(CHECK_DELAY_MS));
  if (linksOf(area.value) !== checked) checkAfter(CHECK_DELAY_MS);
}

function linksOf(text: string): string {
  return (text.match(LINK) ?? []).join("\n");
}
