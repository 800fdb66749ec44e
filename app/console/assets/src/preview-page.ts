// The page of the preview: it follows a start and shows each step. The server shows the site or the failure at its end.
import { startPreview, StartRefused, stepText, STEPS, type StartMessage } from "./preview-start.ts";
import { text } from "./texts.ts";

/** Wait before the page is loaded again after an end that the service has perhaps not recorded. */
const PAUSE_MS = 3000;

/** Follow a start that runs, and start the preview in the page instead of a request that holds the tab. */
export function initPreviewPage(page: HTMLElement): void {
  const form = document.querySelector<HTMLFormElement>("#preview-start");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const stop = document.querySelector<HTMLFormElement>("#preview-stop")!;
    [form.hidden, stop.hidden] = [true, false];
    stop.querySelector("button")!.focus();
    for (const part of page.querySelectorAll<HTMLElement>("[data-preview-shown]")) part.hidden = true;
    void follow(page, true, form);
  });
  if (page.dataset.state === "starting") void follow(page, false, null);
}

/** Show the steps of a start until it ends, then load the page again. `form` is sent if the service refuses the start. */
async function follow(page: HTMLElement, forceSync: boolean, form: HTMLFormElement | null): Promise<void> {
  page.querySelector<HTMLElement>("[data-preview-steps]")!.hidden = false;
  const status = page.querySelector<HTMLElement>("[data-preview-status]")!;
  status.textContent = text("Starting the preview …");
  let isRecorded = false;
  try {
    for await (const message of startPreview(page.dataset.project!, { forceSync })) {
      if (message.step && !message.error) {
        showStep(page, message);
      }
      // Only the failure of a site names its step.
      isRecorded = Boolean(message.previewUrl || (message.error && message.step));
    }
  } catch (error) {
    if (form && error instanceof StartRefused) return form.submit();
    status.textContent = text("The preview could not be started.");
  }
  setTimeout(() => location.replace(location.pathname + location.search), isRecorded ? 0 : PAUSE_MS);
}

/** Show the step of a start: those before it are done. */
export function showStep(page: HTMLElement, message: StartMessage): void {
  const current = STEPS.indexOf(message.step ?? "");
  page.querySelector("[data-preview-status]")!.textContent = stepText(message);
  page.querySelectorAll<HTMLElement>(".steps > li").forEach((item, number) => {
    item.dataset.state = number < current ? "done" : number === current ? "current" : "";
    if (number === current) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
}
