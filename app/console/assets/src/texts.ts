// Translated texts. The page carries them in `<meta name="console-texts">` as JSON: English text to translation.

const translations: Record<string, string> = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="console-texts"]')?.content || "{}",
);

/** Return the translation of an English text, with `{name}` replaced by the values. */
export function text(english: string, values: Record<string, string | number> = {}): string {
  return (translations[english] || english).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
