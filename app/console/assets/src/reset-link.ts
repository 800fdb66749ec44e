// A mail names the token of a new password in the fragment of the URL, which the server does not receive.

/** Copy the token of the fragment to the form, hide its field, and remove the token from the address bar. */
export function initResetLink(): void {
  const input = document.querySelector<HTMLInputElement>("form[data-token-form] input[name=token]");
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!input || !token) return;
  input.value = token;
  const field = input.closest<HTMLElement>(".field");
  if (field) field.hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
  document.querySelector<HTMLInputElement>("form[data-token-form] input[name=password]")?.focus();
}
