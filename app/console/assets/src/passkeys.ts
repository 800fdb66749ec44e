// Passkeys: the sign-in with a button or from the suggestions of the e-mail field, a new passkey, and the proof of the identity.

const OPTIONS = "/api/v1/auth/passkey/generate-authenticate-options";
const VERIFY = "/api/v1/auth/passkey/verify-authentication";

let pending = new AbortController();

/** Set up the parts of a page that use passkeys. They stay hidden in a browser without passkeys. */
export function initPasskeys(): void {
  if (!("PublicKeyCredential" in window) || !PublicKeyCredential.parseRequestOptionsFromJSON) return;
  const signIn = document.querySelector<HTMLElement>("[data-passkey-sign-in]");
  if (signIn) initSignIn(signIn);
  const form = document.querySelector<HTMLFormElement>("form[data-passkey-options]");
  if (form) initRegistration(form);
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-passkey-confirm]")) initProof(button);
}

function initSignIn(part: HTMLElement): void {
  part.hidden = false;
  part.querySelector("button")!.addEventListener("click", () => void signInWith(part));
  void PublicKeyCredential.isConditionalMediationAvailable?.().then((isAvailable) => (isAvailable ? signInWith(part, "conditional") : undefined));
}

/** Sign in. A suggestion that the user does not choose is no failure. */
async function signInWith(part: HTMLElement, mediation?: "conditional"): Promise<void> {
  const failure = part.querySelector<HTMLElement>("[data-passkey-failed]")!;
  failure.hidden = true;
  const response = await request(mediation).catch(() => null);
  if (!response) {
    failure.hidden = mediation !== undefined;
    return;
  }
  const body = JSON.stringify({ response });
  const answer = await fetch(VERIFY, { method: "POST", body, headers: { "Content-Type": "application/json" } }).catch(() => null);
  if (answer?.ok) location.assign(part.dataset.passkeySignIn!);
  else failure.hidden = false;
}

/** Return the response of a passkey to new options of the service. The request before it ends. */
async function request(mediation?: "conditional"): Promise<unknown> {
  pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const answer = await fetch(OPTIONS, { signal });
  if (!answer.ok) throw new Error(answer.statusText);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON((await answer.json()).result);
  return toJSON(await navigator.credentials.get({ publicKey, mediation, signal }));
}

function initRegistration(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>("button[type=submit]")!;
  form.querySelector<HTMLElement>("[data-passkey-missing]")!.hidden = true;
  button.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void create(form);
  });
  void create(form);
}

/** Create the passkey and send it. Some browsers need a click first. */
async function create(form: HTMLFormElement): Promise<void> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(form.dataset.passkeyOptions!));
  const created = await navigator.credentials.create({ publicKey }).catch(() => null);
  form.querySelector<HTMLElement>("[data-passkey-failed]")!.hidden = created !== null;
  if (created) send(form, "response", toJSON(created));
}

function initProof(button: HTMLButtonElement): void {
  button.hidden = false;
  button.addEventListener("click", () => void prove(button.form!));
}

async function prove(form: HTMLFormElement): Promise<void> {
  const response = await request().catch(() => null);
  form.querySelector<HTMLElement>("[data-passkey-failed]")!.hidden = response !== null;
  if (response) send(form, "identity_response", response);
}

/** Send a form with a value that no user enters. Its other fields are not checked. */
function send(form: HTMLFormElement, name: string, value: unknown): void {
  form.querySelector<HTMLInputElement>(`input[name=${name}]`)!.value = JSON.stringify(value);
  form.submit();
}

function toJSON(credential: Credential | null): unknown {
  return (credential as PublicKeyCredential).toJSON();
}
