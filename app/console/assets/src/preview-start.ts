// The start of a preview: the call of the service, and the steps that it reports.
import { events } from "./stream.ts";
import { text } from "./texts.ts";

/** The steps as the service names them. */
export const STEPS = ["Checking session", "Cloning repository", "Installing dependencies", "Starting server", "Waiting for server"];

export interface StartMessage {
  step?: string;
  detail?: string;
  done?: boolean;
  previewUrl?: string;
  sandboxId?: string;
  /** False if a preview with source marks was requested and the site starts only without them. */
  editable?: boolean;
  editableReason?: string;
  error?: string;
  hint?: string | null;
  log_tail?: string | null;
}

/** The service refused a start. `isForCaller`: a limit of the caller, and not the installation, is the reason. */
export class StartRefused extends Error {
  readonly isForCaller: boolean;

  constructor(message: string, isForCaller: boolean) {
    super(message);
    this.isForCaller = isForCaller;
  }
}

/** Connect to the running preview or start it, and yield the messages of the service. `forceSync` reads the newest version, `editable` adds source marks. */
export async function* startPreview(projectId: string, { forceSync = false, branch, editable }: { forceSync?: boolean; branch?: string; editable?: boolean } = {}): AsyncGenerator<StartMessage> {
  const response = await post("/api/sandbox/create", { projectId, forceSync, branch, editable });
  if (!response.ok) throw new StartRefused((await response.json()).message, response.status < 500);
  yield* events<StartMessage>(response);
}

/** Return the number and the name of a step, for example “Step 3 of 5: Installing dependencies”, and the last line of its log. */
export function stepText({ step = "", detail }: StartMessage): string {
  const labels = [
    text("Checking session"), text("Cloning repository"), text("Installing dependencies"), text("Starting server"), text("Waiting for server"),
  ];
  const number = STEPS.indexOf(step);
  const shown = text("Step {number} of {count}: {step}", { number: number + 1, count: STEPS.length, step: labels[number] ?? step });
  return detail ? `${shown} – ${detail}` : shown;
}

/** Send JSON to a route of sandboxes. A start is returned as events. */
export function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", Accept: "text/event-stream, application/json;q=0.5" } });
}
