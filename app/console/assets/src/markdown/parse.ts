// Markdown to ProseMirror nodes, and the division of a text into top-level blocks by source lines.
import MarkdownIt from "markdown-it";
import type { Attrs, Fragment, Mark, Node } from "prosemirror-model";
import { MarkdownParser } from "prosemirror-markdown";
import { readCard, setField } from "./card.ts";
import { templateTargetEnd } from "./links.ts";
import { type Piece, recordPieces } from "./pieces.ts";
import { schema } from "./schema.ts";

export type Token = ReturnType<MarkdownIt["parse"]>[number];

/** Link reference definitions of the whole text, as markdown-it stores them. */
export interface References {
  references?: Record<string, { href: string; title: string }>;
}

/** A range of the text without its final line end. `node` is null for a block that is edited as source. */
export interface Block {
  start: number;
  end: number;
  node: Node | null;
  label: string;
}

const md = new MarkdownIt({ html: true });
// Addresses stay as they are written. The editor decides which links can be followed.
md.normalizeLink = (url: string) => url;
md.normalizeLinkText = (url: string) => url;
md.validateLink = () => true;
recordPieces(md);
const { parseLinkDestination } = md.helpers;
md.helpers.parseLinkDestination = (source, start, max) => {
  const end = templateTargetEnd(source, start, max);
  return end < 0 ? parseLinkDestination(source, start, max) : { ok: true, pos: end, str: source.slice(start, end) };
};
// Shortcodes of Hugo, tags of Liquid and Jinja, attribute lists, footnotes and comments of MDX inside of a text: start, end, and what must not be between.
const RAW: [RegExp, RegExp, RegExp | null][] = [
  [/\{\{/y, /\}\}/g, null],
  [/\{%/y, /%\}/g, null],
  [/\{[:#.]/y, /\}/g, /\n/g],
  [/\[\^[^\]\s]/y, /\]/g, /\s/g],
  [/\{\/\x2a/y, /\*\/\}/g, null],
];
md.inline.ruler.before("escape", "raw_inline", (state, silent) => {
  for (const [start, close, excluded] of RAW) {
    start.lastIndex = state.pos;
    const match = start.exec(state.src);
    if (!match) continue;
    const inner = state.pos + match[0].length;
    const end = nextMatch(state, close, inner);
    if (end < 0 || (excluded && nextMatch(state, excluded, inner) >= 0 && nextMatch(state, excluded, inner) < end)) continue;
    close.lastIndex = end;
    const text = state.src.slice(state.pos, end + close.exec(state.src)![0].length);
    if (!silent) state.push("raw_inline", "", 0).content = text;
    state.pos += text.length;
    return true;
  }
  return false;
});

/** For each text and pattern: the position from which it was searched, and the position of the match or -1. */
const searches = new WeakMap<object, Map<RegExp, { from: number; at: number }>>();

/** Return the position of the next match, or -1. A text with many starts and no end is searched once. */
function nextMatch(state: { src: string }, pattern: RegExp, position: number): number {
  const known = searches.get(state) ?? new Map<RegExp, { from: number; at: number }>();
  searches.set(state, known);
  const last = known.get(pattern);
  if (last && last.from <= position && (last.at < 0 || position <= last.at)) return last.at;
  pattern.lastIndex = position;
  const at = pattern.exec(state.src)?.index ?? -1;
  known.set(pattern, { from: position, at });
  return at;
}

const TAG_ENDS: Record<string, string> = { "{{<": ">}}", "{{%": "%}}", "{%": "%}" };
/** Lines that one tag of a template may have. */
const MAX_TAG_LINES = 50;
// A tag of several lines is one paragraph. Its last line can start like a quotation (`>}}`), others like a list or a heading.
md.block.ruler.before("table", "tag", (state, start, end, silent) => {
  const lineAt = (line: number) => state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]).trimEnd();
  const close = TAG_ENDS[/^\{(?:\{[<%]|%)/.exec(lineAt(start))?.[0] ?? ""];
  if (!close || lineAt(start).includes(close) || state.sCount[start]! - state.blkIndent >= 4) return false;
  for (let line = start + 1; line < Math.min(end, start + MAX_TAG_LINES); line++) {
    const text = lineAt(line);
    if (/\{[{%]/.test(text) || (text && state.sCount[line]! < state.blkIndent)) return false;
    if (!text.includes(close)) continue;
    if (!text.endsWith(close)) return false;
    if (silent) return true;
    const map: [number, number] = [start, line + 1];
    state.push("paragraph_open", "p", 1).map = map;
    Object.assign(state.push("inline", "", 0), { map, content: state.getLines(start, line + 1, state.blkIndent, false).trim(), children: [] });
    state.push("paragraph_close", "p", -1);
    state.line = line + 1;
    return true;
  }
  return false;
}, { alt: ["paragraph", "reference", "blockquote", "list"] });

// markdown-it does not tell how a break is written.
md.inline.ruler.before("newline", "written_break", (state, silent) => {
  const isBackslash = state.src.startsWith("\\\n", state.pos);
  if (!isBackslash && state.src[state.pos] !== "\n") return false;
  const spaces = /(?<! ) {2,}$/.exec(state.pending);
  if (!isBackslash && !spaces) return false;
  if (!silent) {
    if (!isBackslash) state.pending = state.pending.slice(0, spaces!.index);
    state.push("hardbreak", "br", 0).markup = isBackslash ? "\\" : "  ";
  }
  state.pos += isBackslash ? 2 : 1;
  while (state.src[state.pos] === " " || state.src[state.pos] === "\t") state.pos++;
  return true;
});

const FRONT_MATTER = /^(---|\+\+\+)[ \t]*\r?\n(?:[\s\S]*?\r?\n)?\1[ \t]*(?=\r?\n|$)/;
const LINE_END = /\r\n?|\n/g;
// A block that starts like this belongs to an extension of Markdown.
const EXTENSIONS: [RegExp, string][] = [
  [/^\s*(?:\{\{[\s\S]*\}\}|\{%[\s\S]*%\})\s*$/, "Shortcode"],
  [/^ {0,3}(?::::|!!!|\?\?\?|===? ")/, "Directive"],
  [/^ {0,3}\[\^[^\]]+\]:/, "Footnote"],
  [/^ {0,3}\$\$/, "Formula"],
  [/^ {0,3}\[[^\]]+\]:\s/, "Link addresses"],
  [/^\s*\{[:#.][^}\n]*\}\s*$/, "Attributes"],
];

/** Starts of a block that are text in CommonMark and a directive, a formula or a footnote in its extensions. */
export const EXTENSION_START = /^ {0,3}(?:[:!?]{3}|===? "|\$\$|\[\^[^\]]+\]:)/;

/** Return whether MDX would read a source as code: imports, expressions and elements outside of code spans and link targets. Comments and ids of headings are none. */
export function isMdxCode(source: string): boolean {
  if (/^\s*(?:import|export)\s/.test(source)) return true;
  const text = source.replace(/\{#[\w-]+\}[ \t]*$|\{\/\*[^]*?\*\/\}/g, "").replace(/<(?:\/?(?:b|strong|i|em|s|del)|br ?\/)>/g, "").replace(/(?<!`)(`+)(?!`)[^]*?(?<!`)\1(?!`)|\\[^]|\]\((?:<[^<>\n]*>|[^()\s]*)(?: "[^"\n]*")?\)/g, "");
  return /[{<]/.test(text);
}

const UNSUPPORTED: Record<string, string> = { html_block: "HTML" };

/** Cells beyond the columns of a table that are looked for. */
const SURPLUS = 10;

// The brackets of a task belong to its item.
md.core.ruler.before("text_join", "tasks", (state) => {
  for (const [index, token] of state.tokens.entries()) {
    const [paragraph, inline] = state.tokens.slice(index + 1, index + 3);
    if (token.type !== "list_item_open" || paragraph?.type !== "paragraph_open") continue;
    const first = inline!.children?.[0];
    const match = first?.type === "text" ? /^\[([ xX])\](?: |$)/.exec(first.content) : null;
    if (!match || (match[0].length === 3 && inline!.children!.length > 1)) continue;
    token.meta = { task: match[1] };
    first!.content = first!.content.slice(match[0].length);
    inline!.children = inline!.children!.filter((each) => each !== first || each.content);
  }
});

/** HTML elements without attributes that mean the same as a mark. */
const MARKS: Record<string, string> = { b: "strong", strong: "strong", i: "em", em: "em", s: "s", del: "s", strike: "s" };
md.core.ruler.push("html_marks", (state) => {
  for (const token of state.tokens) if (token.children) readHtmlMarks(token.children);
});

/** Replace pairs of such elements by the tokens of marks. Pairs that overlap with other marks remain HTML. */
function readHtmlMarks(tokens: Token[]): void {
  const open: { index: number; tag: string | null }[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === "html_inline" && /^<br ?\/?>$/.test(token.content)) {
      Object.assign(token, { type: "hardbreak", markup: token.content });
      continue;
    }
    const html = token.type === "html_inline" ? /^<(\/?)([a-z]+)>$/.exec(token.content) : null;
    const name = html ? MARKS[html[2]!] : undefined;
    if (token.nesting === 1 || (name && !html![1])) open.push({ index, tag: name ? html![2]! : null });
    else if (token.nesting === -1 || name) {
      const last = open.pop();
      if (!name) {
        // A mark ends whose elements are still open: they remain HTML.
        while (last && last.tag !== null && open.length && open.at(-1)!.tag !== null) open.pop();
        if (last && last.tag !== null) open.pop();
        continue;
      }
      if (!last) continue;
      if (last.tag !== html![2]) {
        open.push(last);
        continue;
      }
      for (const [at, nesting, kind] of [[last.index, 1, "open"], [index, -1, "close"]] as const) {
        Object.assign(tokens[at]!, { type: `${name}_${kind}`, tag: html![2], nesting, markup: `<${html![2]}>` });
      }
    }
  }
}

let current: Token[] = [];
let lines: string[] = [];
const parser = new MarkdownParser(schema, { parse: () => current } as unknown as MarkdownIt, {
  blockquote: { block: "blockquote" },
  paragraph: { block: "paragraph" },
  list_item: { block: "list_item", getAttrs: (token) => ({ task: token.meta?.task ?? null }) },
  table: { block: "table" },
  thead: { ignore: true },
  tbody: { ignore: true },
  tr: { block: "table_row" },
  th: { block: "table_header", getAttrs: alignment },
  td: { block: "table_cell", getAttrs: alignment },
  bullet_list: {
    block: "bullet_list",
    getAttrs: (token, tokens, i) => ({ marker: token.markup, tight: isTight(tokens, i), ...layoutOf(tokens, i) }),
  },
  ordered_list: {
    block: "ordered_list",
    getAttrs: (token, tokens, i) => ({
      order: Number(token.attrGet("start") ?? 1),
      delimiter: token.markup,
      step: stepOf(tokens, i),
      tight: isTight(tokens, i),
      ...layoutOf(tokens, i),
    }),
  },
  heading: {
    block: "heading",
    getAttrs: (token) => ({ level: Number(token.tag.slice(1)), underline: token.markup.replace(/^#+$/, "") }),
  },
  code_block: { block: "code_block", noCloseToken: true, attrs: { fence: "" } },
  fence: {
    block: "code_block",
    noCloseToken: true,
    getAttrs: (token) => ({ info: token.info.trim(), fence: token.markup.slice(0, 3) }),
  },
  hr: { node: "horizontal_rule", getAttrs: (token) => ({ markup: token.markup }) },
  image: {
    node: "image",
    getAttrs: (token) => ({
      src: token.attrGet("src") ?? "",
      alt: token.content.replace(/\\([[\]\\])/g, "$1"),
      title: token.attrGet("title") || null,
    }),
  },
  hardbreak: { node: "hard_break", getAttrs: (token) => ({ markup: token.markup }) },
  softbreak: { node: "soft_break" },
  html_inline: { node: "raw_inline", getAttrs: (token) => ({ text: token.content }) },
  raw_inline: { node: "raw_inline", getAttrs: (token) => ({ text: token.content }) },
  em: { mark: "em", getAttrs: markAttributes },
  strong: { mark: "strong", getAttrs: markAttributes },
  s: { mark: "strike", getAttrs: markAttributes },
  link: { mark: "link", getAttrs: markAttributes },
  code_inline: { mark: "code", noCloseToken: true },
});

function markAttributes(token: Token): Attrs {
  if (token.type !== "link_open") return { markup: token.markup };
  return { href: token.attrGet("href") ?? "", title: token.attrGet("title") || null, label: token.meta?.label ?? null };
}

/** Return the mark that a token opens. */
export function markOf(token: Token): Mark {
  const name = token.type.replace(/^s_/, "strike_").replace(/_(?:open|inline)$/, "");
  return schema.mark(name, name === "code" ? null : markAttributes(token));
}

function alignment(token: Token): { align: string | null } {
  return { align: /text-align:(\w+)/.exec(String(token.attrGet("style") ?? ""))?.[1] ?? null };
}

/** Return whether the schema has all of a table: no cells beyond its columns, and no lines that belong to an extension. */
function isPlainTable(source: string, tokens: Token[]): boolean {
  const [, , ...rows] = source.split(LINE_END);
  if (rows.some((row) => /^\s*\{[:{%]/.test(row))) return false;
  const columns = tokens.filter((token) => token.type === "th_open").length;
  const width = columns + SURPLUS;
  const wide = md.parse([`|${" x |".repeat(width)}`, `|${" --- |".repeat(width)}`, ...rows].join("\n"), {});
  const cells = wide.filter((token) => token.type === "inline").slice(width);
  return cells.every((cell, index) => index % width < columns || !cell.content);
}

/** Return whether the paragraphs of a list are tight. Without paragraphs, an empty line before the second item decides. */
function isTight(tokens: readonly Token[], index: number): boolean {
  const { level } = tokens[index]!;
  for (let i = index + 1; i < tokens.length && tokens[i]!.level > level; i++) {
    if (tokens[i]!.type === "paragraph_open" && tokens[i]!.level === level + 2) return tokens[i]!.hidden;
  }
  const [, second] = itemsOf(tokens, index);
  return !second || /\S/.test(lines[second.map![0] - 1] ?? "");
}

/** Return the first items of the list at `index`. */
function* itemsOf(tokens: readonly Token[], index: number): Generator<Token> {
  const { level } = tokens[index]!;
  for (let i = index + 1; i < tokens.length && tokens[i]!.level > level; i++) {
    if (tokens[i]!.type === "list_item_open" && tokens[i]!.level === level + 1) yield tokens[i]!;
  }
}

/** Return 0 if all items of a numbered list have the same number, else 1. */
function stepOf(tokens: readonly Token[], index: number): number {
  const [first, second] = itemsOf(tokens, index);
  return second && second.info === first!.info ? 0 : 1;
}

/** Return the columns from the marker to the text of the first item, and the white space before the marker of a nested list. */
function layoutOf(tokens: readonly Token[], index: number): { gap: number | null; indent: string | null } {
  const line = lineOf(tokens[index]!);
  const match = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])( +)\S/.exec(line);
  if (!match) return { gap: null, indent: null };
  // More than four columns belong to indented code.
  const gap = match[2]!.length > 4 ? null : match[0].length - 1 - match[1]!.length;
  const parent = parentItem(tokens, index);
  if (!parent) return { gap, indent: match[1] || null };
  const outer = /^[ \t]*/.exec(lineOf(parent))![0];
  const isBelow = parent.map![0] !== tokens[index]!.map![0] && match[1]!.startsWith(outer);
  return { gap, indent: isBelow ? match[1]!.slice(outer.length) : null };
}

function parentItem(tokens: readonly Token[], index: number): Token | null {
  const { level } = tokens[index]!;
  for (let i = index - 1; i >= 0; i--) if (tokens[i]!.level < level && tokens[i]!.nesting === 1) return tokens[i]!.type === "list_item_open" ? tokens[i]! : null;
  return null;
}

function lineOf(token: Token): string {
  return lines[token.map?.[0] ?? -1] ?? "";
}

/** Return the nodes of a text, or null if it contains a construct that the schema does not have. */
export function parseNodes(text: string, references: References): Node[] | null {
  const tokens = md.parse(text, { references: { ...references.references } });
  return nodesOf(tokens, text.split("\n"));
}

/** Return the tokens of a text. */
export function tokensOf(text: string, references: References): Token[] {
  return md.parse(text, { references: { ...references.references } });
}

/** Return what a text without blocks contains, and where in the text each part is. */
export function parseInline(text: string, references: References): { content: Fragment; pieces: Piece[] } | null {
  const env: References & { pieces: Piece[] } = { references: { ...references.references }, pieces: [] };
  const tokens = md.parseInline(text, env);
  const [open, , close] = md.parse("x", {});
  const node = nodesOf([open!, ...tokens, close!], [])?.[0];
  return node ? { content: node.content, pieces: env.pieces } : null;
}

/** Return one line for each part of the blocks of a text, also of blocks that the schema does not have. */
export function outlineOf(text: string, references: References): string[] {
  const tokens = md.parse(text, { references: { ...references.references } });
  return tokens.map(({ type, tag, markup, info, hidden, attrs, content }) => JSON.stringify([type, tag, markup, info, hidden, attrs, content.trimEnd()]));
}

/** Return the link addresses that a text defines, by their labels, each as a line. */
export function definitionsOf(text: string): Map<string, string> {
  const { references = {} }: References = text.includes("]:") ? parsedReferences(text) : {};
  const lines = Object.entries(references).map(([label, { href, title }]): [string, string] => {
    const target = /[\s()<>]/.test(href) || !href ? `<${href}>` : href;
    return [label, `[${label.toLowerCase()}]: ${target}${title ? ` "${title.replaceAll('"', '\\"')}"` : ""}`];
  });
  return new Map(lines);
}

function parsedReferences(text: string): References {
  const references: References = {};
  md.parse(text, references);
  return references;
}

function nodesOf(tokens: Token[], source: string[]): Node[] | null {
  if (tokens.some((token) => token.type in UNSUPPORTED || (token.type === "table_open" && token.level > 0))) return null;
  if (!tokens.length) return [];
  current = tokens;
  lines = source;
  try {
    return [...parser.parse("").children];
  } catch {
    return null;
  }
}

/** Divide a text into its top-level blocks. Text between the blocks is blank. */
export function split(text: string, isMdx = false): { blocks: Block[]; references: References } {
  const blocks: Block[] = [];
  const header = FRONT_MATTER.exec(text)?.[0].length ?? 0;
  if (header) blocks.push({ start: 0, end: header, node: null, label: "Front matter" });
  const body = text.slice(header);
  const starts = [0];
  const ends: number[] = [];
  for (const match of body.matchAll(LINE_END)) {
    ends.push(match.index);
    starts.push(match.index + match[0].length);
  }
  ends.push(body.length);
  const isBlank = (line: number) => !/\S/.test(body.slice(starts[line], ends[line]));

  const references: References = { references: {} };
  let next = 0;
  const add = (from: number, to: number, tokens: Token[] | null) => {
    while (from < to && isBlank(from)) from++;
    while (to > from && isBlank(to - 1)) to--;
    if (from === to) return;
    const source = body.slice(starts[from], ends[to - 1]);
    const cut = from + definitionsStart(source, tokens);
    if (cut < to) {
      const list = body.slice(starts[from], ends[cut - 1]).replace(/\s+$/, "").replace(LINE_END, "\n");
      const end = starts[from]! + body.slice(starts[from], ends[cut - 1]).trimEnd().length;
      const lines = list.split("\n");
      const block = classify(list, md.parse(list, { references: { ...references.references } }), lines, isMdx);
      blocks.push({ start: header + starts[from]!, end: header + end, ...block });
      return add(cut, to, null);
    }
    blocks.push({ start: header + starts[from]!, end: header + ends[to - 1]!, ...classify(source, tokens, all, isMdx) });
  };
  const all = starts.map((start, line) => body.slice(start, ends[line]));
  for (const { from, to, tokens } of groups(md.parse(body, references))) {
    add(next, from, null);
    add(from, to, tokens);
    next = to;
  }
  add(next, starts.length, null);
  lines = [];
  return { blocks, references };
}

/** Labels of blocks that can be a component or a shortcode. */
const CARDS = new Set(["Shortcode", "HTML", "MDX", "Markdown"]);

/** Return the line at which link addresses begin that end a list, or the number of lines. They would make each item loose. */
function definitionsStart(source: string, tokens: Token[] | null): number {
  const lines = source.split(LINE_END);
  if (!/_list_open$/.test(tokens?.[0]?.type ?? "") || !source.includes("]:")) return lines.length;
  const known = definitionsOf(source.replace(LINE_END, "\n"));
  const isDefinition = (line: string) => known.has(md.utils.normalizeReference(/^[ \t]+\[([^\]]+)\]:[ \t]*\S/.exec(line)?.[1] ?? ""));
  let start = lines.length;
  while (start > 1 && isDefinition(lines[start - 1]!)) start--;
  return /\S/.test(lines[start - 1]!) ? lines.length : start;
}

/** Return a block as a card if it is one. An element and its text can also be a paragraph of Markdown. */
function classify(source: string, tokens: Token[] | null, all: string[], isMdx: boolean): { node: Node | null; label: string } {
  const block = classifyMarkdown(source, tokens, all, isMdx);
  const isCandidate = block.node ? block.node.type === schema.nodes.paragraph && source.trimStart().startsWith("<") : CARDS.has(block.label);
  return isCandidate && readCard(source) ? { ...block, node: schema.nodes.card!.create({ source }) } : block;
}

/** Return the source of a card with another value of one field, or null if the file would be read differently. */
export function editCard(source: string, index: number, value: string, isMdx: boolean, lineEnd: string): string | null {
  const edited = setField(source, index, value, lineEnd);
  if (edited === null) return null;
  const { blocks } = split(edited, isMdx);
  return blocks.length === 1 && blocks[0]!.node?.type === schema.nodes.card && blocks[0]!.node.attrs.source === edited ? edited : null;
}

function classifyMarkdown(source: string, tokens: Token[] | null, all: string[], isMdx: boolean): { node: Node | null; label: string } {
  const extension = EXTENSIONS.find(([pattern]) => pattern.test(source));
  if (extension) return { node: null, label: extension[1] };
  if (!tokens) return { node: null, label: "Markdown" };
  const type = tokens.find((token) => token.type in UNSUPPORTED)?.type;
  if (type) return { node: null, label: UNSUPPORTED[type]! };
  if (tokens[0]!.type === "table_open" && !isPlainTable(source, tokens)) return { node: null, label: "Table" };
  // MDX has no indented code.
  if (isMdx && tokens[0]!.type !== "fence" && (tokens[0]!.type === "code_block" || isMdxCode(source))) return { node: null, label: "MDX" };
  const nodes = nodesOf(tokens, all);
  return { node: nodes?.length === 1 ? nodes[0]! : null, label: "Markdown" };
}

function* groups(tokens: Token[]): Generator<{ from: number; to: number; tokens: Token[] }> {
  let depth = 0;
  let first = 0;
  for (const [index, token] of tokens.entries()) {
    if (depth === 0) first = index;
    depth += token.nesting;
    const [from, to] = tokens[first]!.map ?? [0, 0];
    if (depth === 0 && to > from) yield { from, to, tokens: tokens.slice(first, index + 1) };
  }
}
