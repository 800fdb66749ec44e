// Number of words of a Markdown text.

const MAX_SEGMENTED_CHARACTERS = 100_000;

/** Count words without front matter, code fences, HTML tags and link targets. Long texts are counted by letters and spaces. */
export function countWords(text: string, language = "en"): number {
  const prose = text
    .replace(/^(---|\+\+\+)[ \t]*\r?\n[\s\S]*?\r?\n\1[ \t]*(?=\r?\n|$)/, "")
    .replace(/^( {0,3})(```|~~~)[\s\S]*?^\1\2/gm, "")
    // An opening character ends a search: a text with many of them is read once.
    .replace(/<[^<>\n]+>/g, " ")
    .replace(/\]\((?:[^()\n]|\([^()\n]*\))*\)/g, "]");
  if (prose.length > MAX_SEGMENTED_CHARACTERS) return prose.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu)?.length ?? 0;
  let count = 0;
  for (const { isWordLike } of new Intl.Segmenter(language || "en", { granularity: "word" }).segment(prose)) if (isWordLike) count++;
  return count;
}
