// Links of Markdown as text: targets with template tags, and the link around a cursor.

const MAX_TAG = 1000;

/** The source of a link, its text and its target. `from` and `to` are its positions in the whole text. */
export interface SourceLink {
  from: number;
  to: number;
  text: string;
  href: string;
  title: string;
}

/**
 * Return the end of a link target that starts with a template tag, such as `{{< ref "a b.md" >}}#part`, or -1. CommonMark does not
 * permit its spaces and angle brackets, but generators replace the tag before they read Markdown.
 */
export function templateTargetEnd(source: string, start: number, max: number): number {
  if (!/^\{[{%]/.test(source.slice(start, start + 2))) return -1;
  let at = start;
  while (at < max) {
    const close = { "{{": "}}", "{%": "%}" }[source.slice(at, at + 2)];
    if (close) {
      const inner = source.slice(at + 2, Math.min(at + MAX_TAG, max));
      const end = inner.indexOf(close);
      if (end < 0 || inner.slice(0, end).includes("\n")) return -1;
      at += end + 4;
    } else if (/[\s()<>]/.test(source[at]!)) break;
    else at++;
  }
  return at;
}

/** Return whether a target is written as it is, because it starts with a template tag. */
export function isTemplateTarget(href: string): boolean {
  return templateTargetEnd(href, 0, href.length) === href.length;
}

/** Return the notation of a target. */
export function linkTarget(href: string): string {
  if (isTemplateTarget(href)) return href;
  return /[\s()<>]/.test(href) ? `<${href.replace(/[<>\n]/g, encodeURIComponent)}>` : href;
}

/** Return the Markdown of a link. */
export function linkSource({ text, href, title }: Pick<SourceLink, "text" | "href" | "title">): string {
  const label = text.replace(/[[\]\\]/g, "\\$&");
  return `[${label}](${linkTarget(href)}${title ? ` "${title.replaceAll('"', '\\"')}"` : ""})`;
}

/** Return the link of a line that contains a range, or null. An image is no link. */
export function linkAround(line: string, from: number, to: number): SourceLink | null {
  let start = 0;
  while (start <= from) {
    const open = line.indexOf("[", start);
    if (open < 0 || open > from) return null;
    start = open + 1;
    if (/[!\\]/.test(line[open - 1] ?? "")) continue;
    const close = labelEnd(line, open);
    if (close < 0 || line[close + 1] !== "(") continue;
    const link = targetOf(line, open, close);
    if (link && link.to >= to && open <= from) return link;
    if (link) start = link.to;
  }
  return null;
}

function labelEnd(line: string, open: number): number {
  let depth = 0;
  for (let at = open; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line[at] === "[") depth++;
    else if (line[at] === "]" && --depth === 0) return at;
  }
  return -1;
}

/** Return the link whose label is between two brackets. */
function targetOf(line: string, open: number, close: number): SourceLink | null {
  const start = close + 2;
  const template = templateTargetEnd(line, start, line.length);
  const plain = /^(?:<([^<>]*)>|((?:[^\s()]|\([^\s()]*\))*))/.exec(line.slice(start));
  const end = template < 0 ? start + plain![0].length : template;
  const after = /^(?:\s+"((?:[^"\\]|\\.)*)")?\s*\)/.exec(line.slice(end));
  if (!after) return null;
  const href = template < 0 ? (plain![1] ?? plain![2] ?? "") : line.slice(start, end);
  const text = line.slice(open + 1, close).replace(/\\([[\]\\])/g, "$1");
  return { from: open, to: end + after[0].length, text, href, title: (after[1] ?? "").replaceAll('\\"', '"') };
}

/** Return whether a link may be followed: relative, or with a scheme that runs no script. */
export function isSafe(href: string): boolean {
  return !/^[a-z][a-z0-9+.-]*:/i.test(href.trim()) || /^(https?|mailto|tel):/i.test(href.trim());
}
