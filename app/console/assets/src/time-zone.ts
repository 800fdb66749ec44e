// The time zone of the browser: sent with a sign-up, and offered to a user who has another one.

/** Fill the inputs for the time zone, and show the offer unless the zone is known under this or another name. */
export function initTimeZone(): void {
  const zone = nameOf();
  for (const input of document.querySelectorAll<HTMLInputElement>("input[data-browser-zone]")) input.value = zone;
  const offer = document.querySelector<HTMLFormElement>("form[data-known-zones]");
  if (!offer || !zone || offer.dataset.knownZones?.split(" ").some((known) => nameOf(known) === zone)) return;
  offer.querySelector("bdi")!.textContent = zone.replaceAll("_", " ");
  offer.querySelector<HTMLInputElement>("input[name=next]")!.value = location.pathname + location.search;
  offer.hidden = false;
}

/** Return the name that the browser uses for a time zone, or for its own one. */
function nameOf(timeZone?: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone ?? "";
  } catch {
    return timeZone ?? "";
  }
}
