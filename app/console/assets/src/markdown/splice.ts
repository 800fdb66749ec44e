// An edited block as the text of its author: only what the edit concerns is written again. Each part is found by its position in
// the source, and the result is parsed and compared before it is used.
import { Fragment, type Mark, type Node } from "prosemirror-model";
import { normalized } from "./compare.ts";
import type { Piece } from "./pieces.ts";
import { type Token, markOf, parseInline, tokensOf } from "./parse.ts";
import { schema } from "./schema.ts";
import { BlockWriter, type Context, FORMS, type Form, codeBlock, delimiterOf, isInlineSource, isSource, leafText, loose, resolve } from "./write.ts";

/** A line without the markers and the indentation of the blocks around it. It gets those of line `at` of the source. */
interface Line {
  text: string;
  at: number | null;
  /** The indentation of a new line inside of an item. */
  margin?: string;
}

/** A block of the source and its lines. */
interface Part {
  node: Node;
  from: number;
  to: number;
  children: Part[];
}

const BLOCK = /^(?:paragraph|heading|blockquote|bullet_list|ordered_list|list_item|table|tr)_open$|^(?:fence|code_block|hr)$/;
/** Ranges that are tried for one edit. */
const MAX_RANGES = 12;
/** Units of a text that separate two edits, and pairs of units that are compared. */
const MIN_RUN = 4;
const MAX_COMPARED = 4_000_000;
const MARKER = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]{1,4}(?=[^ \t])|[ \t]|$)/;

/** Return the text of a block after an edit, or null if what was not edited cannot keep its text. */
export function splice(source: string, original: Node, edited: Node, context: Context): string | null {
  const [before, after] = [original, edited].map((node) => normalized(resolve(node, context.style))) as [Node, Node];
  const lines = source.split("\n");
  const part = partOf(tokensOf(source, context.references), before, lines);
  if (!part) return null;
  const known = texts(part, lines);
  for (const forms of FORMS.map((_form, index) => FORMS.slice(index))) {
    const text = new Splicer({ ...context, known }, forms).block(part, after, lines).map((line) => line.text).join("\n");
    if (isSource(text, after, context) || isSource(text, loose(after), context)) return text;
  }
  return null;
}

/** Return the parts of a block, or null if they are not those of the node. */
function partOf(tokens: Token[], node: Node, lines: string[]): Part | null {
  const root: Part = { node: schema.nodes.doc!.create(null, node), from: 0, to: lines.length, children: [] };
  const open = [root];
  for (const token of tokens) {
    if (BLOCK.test(token.type)) {
      const parent = open.at(-1)!;
      let [from, to] = token.map!;
      while (to > from + 1 && !/[^\s>]/.test(lines[to - 1]!)) to--;
      const child = parent.node.maybeChild(parent.children.length);
      if (!child) return null;
      parent.children.push({ node: child, from, to, children: [] });
      if (token.nesting) open.push(parent.children.at(-1)!);
    } else if (token.nesting < 0 && BLOCK.test(token.type.replace("_close", "_open"))) open.pop();
  }
  return root.children[0] ?? null;
}

/** Return the contents of one line in a block with their sources. */
function texts(part: Part, lines: string[]): { content: Fragment; text: string }[] {
  if (part.node.type === schema.nodes.table || part.node.isLeaf) return [];
  if (part.node.type !== schema.nodes.paragraph) return part.children.flatMap((child) => texts(child, lines));
  const line = lines[part.from]!.replace(/^(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t]|\[[ xX]\] )*/, "").trimEnd();
  return part.to === part.from + 1 ? [{ content: part.node.content, text: line }] : [];
}

class Splicer {
  private readonly context: Context;
  private readonly forms: Form[];
  private readonly writer: BlockWriter;

  constructor(context: Context, forms: Form[]) {
    this.context = context;
    this.forms = forms;
    this.writer = new BlockWriter(context, forms);
  }

  /** Return the lines of a node that was `part`. `lines` are those of the source inside of the blocks around it. */
  block(part: Part, node: Node, lines: string[]): Line[] {
    const { type } = node;
    if (part.node.eq(node)) return linesOf(lines, part.from, part.to);
    if (node.inlineContent && part.node.inlineContent && !type.spec.code && !part.node.type.spec.code) return this.text(part, node, lines);
    if (type !== part.node.type) return this.fresh(node);
    if (type === schema.nodes.code_block) return this.code(part, node, lines);
    if (type === schema.nodes.table) return this.table(part, node, lines);
    if (type === schema.nodes.blockquote) return this.quote(part, node, lines);
    const isSameList = ["marker", "delimiter"].every((name) => part.node.attrs[name] === node.attrs[name]);
    return "tight" in node.attrs && isSameList ? this.list(part, node, lines) : this.fresh(node);
  }

  private fresh(node: Node): Line[] {
    return newLines(this.writer.write(node));
  }

  /** Return the lines of the children of a node and what is between them. */
  private children(part: Part, node: Node, isTight: boolean, lines: string[], write: (own: Part | null, child: Node, index: number) => Line[]): Line[] {
    const own = pairs(part, node);
    const last = part.children.at(-1);
    const result: Line[] = [];
    for (const [index, child] of [...node.children].entries()) {
      const position = own[index] ? part.children.indexOf(own[index]) : -1;
      const before = part.children[position - 1];
      const isNeighbour = position >= 0 && (index ? before !== undefined && own[index - 1] === before : !position);
      const gap = position >= 0 && Boolean(index) === Boolean(before) ? linesOf(lines, before?.to ?? part.from, own[index]!.from) : [];
      if (index && !isNeighbour && !gap.length && !(isTight && (child.type === schema.nodes.list_item || "tight" in child.attrs))) gap.push({ text: "", at: null });
      result.push(...gap, ...write(own[index] ?? null, child, index));
    }
    return last && own.includes(last) ? [...result, ...linesOf(lines, last.to, part.to)] : result;
  }

  private quote(part: Part, node: Node, lines: string[]): Line[] {
    const split = lines.map((line) => /^[ \t]*>[ ]?/.exec(line)?.[0] ?? "");
    const inner = lines.map((line, index) => line.slice(split[index]!.length));
    const margin = split[part.from]!;
    const body = this.children(part, node, false, inner, (own, child) => (own ? this.block(own, child, inner) : this.fresh(child)));
    return body.map(({ text, at }) => ({ text: at === null || (text && !inner[at]) ? (margin + text).trimEnd() : split[at]! + text, at }));
  }

  private list(part: Part, node: Node, lines: string[]): Line[] {
    const { order, step, tight } = node.attrs;
    const numbers = part.children.map(({ from }) => Number(/\d+/.exec(lines[from]!)?.[0]));
    const isRegular = numbers.every((number, index) => number === part.node.attrs.order + index * part.node.attrs.step);
    let number = order - 1;
    let sibling = part.children[0]!;
    const block = part.children.flatMap(({ children }) => children.slice(1)).find((child) => !("tight" in child.node.attrs));
    const inset = block ? /^[ \t]*/.exec(lines[block.from]!)![0] : "";
    return this.children(part, node, tight, lines, (own, item, index) => {
      number = isRegular ? order + index * step : own ? numbers[part.children.indexOf(own)]! : number + 1;
      sibling = own ?? sibling;
      if (own?.node.eq(item) && Object.is(number, numbers[part.children.indexOf(own)])) return linesOf(lines, own.from, own.to);
      return this.item(own, sibling, item, tight, lines, number, inset);
    });
  }

  /** Return the lines of an item. A new one has the marker and the indentation of its sibling, and a new block of it the inset of the list. */
  private item(own: Part | null, sibling: Part, item: Node, isTight: boolean, lines: string[], number: number, inset: string): Line[] {
    const first = lines[sibling.from]!;
    const old = MARKER.exec(first)![0];
    const width = columns(old);
    const isBare = old.trim() === first.trim();
    let lead = old.replace(/\d+/, String(number));
    const growth = lead.length - old.length;
    const gap = /[ \t]*$/.exec(old)![0];
    if (growth > 0 && / {2,}$/.test(lead) && gap.length > growth) lead = lead.slice(0, -growth);
    if (isBare) lead = lead.trimEnd() + " ";
    const task = sibling.node.attrs.task === null ? "" : (/^\[[ xX]\](?: |$)/.exec(first.slice(old.length))?.[0] ?? "");
    const margins = lines.map((line, index) => (index === sibling.from ? old + task : marginOf(line, width)));
    const inner = lines.map((line, index) => line.slice(margins[index]!.length));
    const range = lines.slice(sibling.from + 1, sibling.to).filter((line) => columns(/^[ \t]*/.exec(line)![0]) >= width && /\S/.test(line));
    const needed = columns(lead) - Math.min(...range.map((line) => columns(/^[ \t]*/.exec(line)![0])));
    const shift = growth > 0 && needed > 0 && range.length ? " ".repeat(needed) : "";
    const margin = margins.slice(sibling.from + 1, sibling.to).find((each) => columns(each) >= width) ?? " ".repeat(columns(lead));
    const write = (part: Part | null, child: Node): Line[] => {
      if (part) return this.block(part, child, inner);
      const indent: string = ("tight" in child.attrs ? (child.attrs.indent ?? this.context.style.indent) : inset) || "";
      const isIndented = indent && columns(indent) >= columns(lead) && columns(indent) < columns(lead) + 4;
      return this.fresh(child).map((line) => (isIndented ? { ...line, margin: indent } : line));
    };
    const part = own ?? { ...sibling, children: [], to: sibling.from };
    const body = this.children(part, item, isTight, inner, write);
    const box = item.attrs.task === null ? "" : task && item.attrs.task === sibling.node.attrs.task ? task : `[${item.attrs.task}] `;
    return body.map(({ text, at, margin: special }, index) => {
      if (!index) return { text: text ? lead + box + text : (lead + box).trimEnd(), at: own ? own.from : null };
      if (at === null || at === part.from || (text && !inner[at])) return { text: text && (special ?? margin) + shift + text, at: at === part.from ? null : at };
      return { text: columns(margins[at]!) >= width && text ? margins[at]! + shift + text : margins[at]! + text, at };
    });
  }

  private text(part: Part, node: Node, lines: string[]): Line[] {
    const own = lines.slice(part.from, part.to);
    const isHeading = part.node.type === schema.nodes.heading;
    const atx = isHeading && !part.node.attrs.underline ? /^([ \t]*#+[ \t]*)(.*?)((?:[ \t]+#+)?[ \t]*)$/.exec(own[0]!) : null;
    const underline = isHeading && !atx ? own.pop()! : null;
    const margins = own.map((line) => atx?.[1] ?? /^[ \t]*/.exec(line)![0]);
    const contents = own.map((line, index) => (atx ? atx[2]! : line.slice(margins[index]!.length)));
    const trail = atx ? atx[3]! : /[ \t]*$/.exec(contents.at(-1)!)![0];
    const source = contents.join("\n").slice(0, atx ? undefined : contents.join("\n").length - trail.length);
    const edited = this.inline(source, part.node, node).split("\n");
    const [before, now] = [source.split("\n"), edited];
    const [head, tail] = shared(before, now);
    const isSameCount = before.length === now.length;
    const origin = (index: number) => (isSameCount || index < head || (!index && head < before.length) ? index : index >= now.length - tail ? index - now.length + before.length : null);
    const level = "#".repeat(node.attrs.level ?? 0);
    const marks = node.type === schema.nodes.heading && (atx || !underline);
    const result = edited.map((text, index): Line => {
      const from = origin(index);
      let margin = from === null ? (margins[1] ?? margins[0]!) : margins[from]!;
      if (!index && marks) margin = atx ? margin.replace(/#+/, level) : `${level} `;
      if (atx && !marks) margin = "";
      return { text: margin + text + (index === edited.length - 1 && (marks || !atx) ? trail : ""), at: from === null ? null : part.from + from };
    });
    if (underline === null || node.type !== schema.nodes.heading) return result;
    if (node.attrs.level === part.node.attrs.level) return [...result, { text: underline, at: part.to - 1 }];
    return node.attrs.level > 2 ? this.fresh(node) : [...result, { text: underline.replace(/[-=]/g, node.attrs.level === 1 ? "=" : "-"), at: part.to - 1 }];
  }

  private code(part: Part, node: Node, lines: string[]): Line[] {
    const { fence, info } = node.attrs;
    const own = lines.slice(part.from, part.to);
    const open = /^([ \t]*)(`{3,}|~{3,})/.exec(own[0]!);
    const written = codeBlock(node).split("\n");
    if (fence !== part.node.attrs.fence || (open && (info !== part.node.attrs.info || written[0]!.replace(info, "").length > open[2]!.length))) return this.fresh(node);
    const isClosed = open && own.length > 1 && own.at(-1)!.trim() === own.at(-1)!.trim()[0]?.repeat(own.at(-1)!.trim().length) && own.at(-1)!.trim().startsWith(open[2]!);
    const [first, last] = [open ? 1 : 0, own.length - (isClosed ? 1 : 0)];
    const margins = own.map((line) => (open ? marginOf(line, columns(open[1]!)) : marginOf(line, 4)));
    const before = own.map((line, index) => line.slice(margins[index]!.length)).slice(first, last);
    const now = node.textContent || before.length ? node.textContent.split("\n") : [];
    const [head, tail] = shared(before, now);
    const margin = open ? open[1]! : "    ";
    const content = now.map((text, index): Line => {
      const from = index < head || before.length === now.length ? index : index >= now.length - tail ? index - now.length + before.length : null;
      return { text: from === null ? text && margin + text : (text && !before[from] ? margin : margins[from + first]!) + text, at: from === null ? null : part.from + first + from };
    });
    return [...linesOf(lines, part.from, part.from + first), ...content, ...linesOf(lines, part.from + last, part.to)];
  }

  private table(part: Part, node: Node, lines: string[]): Line[] {
    const [before, after] = [part.node.firstChild!, node.firstChild!];
    const own = pairs(part, node);
    const rows = [...node.children].map((row, index): Line => {
      const source = own[index];
      // A row that becomes the header can have fewer cells than the table has columns.
      if (!source || (!index && source !== part.children[0])) return { text: this.writer.row(row), at: null };
      if (source.node.eq(row)) return { text: lines[source.from]!, at: index ? source.from : part.from };
      return { text: this.row(lines[source.from]!, source.node, row, (text, old, cell) => this.inline(text.replaceAll("\\|", "|"), old, cell).replaceAll("|", "\\|")), at: index ? source.from : part.from };
    });
    const isAligned = before.childCount === after.childCount && [...before.children].every((cell, index) => cell.attrs.align === after.child(index).attrs.align);
    const delimiter = lines[part.from + 1]!;
    const text = isAligned ? delimiter : this.row(delimiter, before, after, (text, old, cell) => (old.attrs.align === cell.attrs.align ? text : delimiterOf(cell)), delimiterOf);
    return [rows[0]!, { text, at: part.from + 1 }, ...rows.slice(1)];
  }

  /** Return a line of a table in which each cell keeps its text and its spaces, unless it was edited. */
  private row(line: string, before: Node, after: Node, edit: (text: string, old: Node, cell: Node) => string, fresh = (cell: Node) => this.writer.inline(cell)): string {
    const [, margin, body, end] = /^([ \t]*\|?)(.*?)((?:(?<!\\)\|)?[ \t]*)$/.exec(line)!;
    const cells = body!.split(/(?<!\\)\|/);
    const olds = [...before.children];
    const news = [...after.children];
    const isSame = (a: Node, b: Node) => a.content.eq(b.content) && a.attrs.align === b.attrs.align;
    const origins = matches(olds, news, isSame, () => true);
    const texts = news.map((cell, index) => {
      const origin = origins[index]!;
      const [source, old] = [cells[origin], olds[origin]];
      // A row can have fewer cells than the table has columns.
      if (source === undefined && old && isSame(old, cell)) return null;
      if (source === undefined || !old) return ` ${fresh(cell)} `;
      const [, left, text, right] = /^(\s*)(.*?)(\s*)$/.exec(source)!;
      return isSame(old, cell) ? source : left + edit(text!, old, cell) + right;
    });
    // Without a pipe before it, an empty cell would not be read.
    const start = margin!.includes("|") || texts[0]?.trim() ? "" : "| ";
    return margin + start + texts.filter((text) => text !== null).join("|") + end;
  }

  /** Return an inline text in which the smallest possible range is written again. */
  private inline(source: string, before: Node, after: Node): string {
    if (before.content.eq(after.content)) return source;
    const run = commonRun(before, after);
    if (run) {
      const between = before.copy(before.content.cut(0, run.before).append(after.content.cut(run.after)));
      return this.inline(this.inline(source, before, between), between, after);
    }
    const isCell = Boolean(after.type.spec.tableRole);
    const read = parseInline(source, this.context.references);
    if (!read || read.content.size !== before.content.size) return this.writer.inline(after);
    const ranges = rangesOf(pointsOf(read.pieces), before, after);
    for (const form of this.forms) {
      for (const { from, to, nodes } of ranges) {
        const cut = leafText(after.copy(Fragment.from(nodes)), form, this.context);
        const text = source.slice(0, from) + (isCell ? cut.replaceAll("\\|", "|") : cut) + source.slice(to);
        if (isInlineSource(text, after, this.context)) return text;
      }
    }
    return this.writer.inline(after);
  }
}

/** Return where the longest part begins that two texts have between their first and their last difference. */
function commonRun(before: Node, after: Node): { before: number; after: number } | null {
  const start = before.content.findDiffStart(after.content) ?? 0;
  const { a, b } = before.content.findDiffEnd(after.content) ?? { a: 0, b: 0 };
  if (Math.min(a, b) - start < MIN_RUN || (a - start) * (b - start) > MAX_COMPARED) return null;
  const [old, now] = [units(before).slice(start, a), units(after).slice(start, b)];
  let best = { length: MIN_RUN - 1, before: 0, after: 0 };
  let lengths: number[] = [];
  for (const [i, unit] of old.entries()) {
    lengths = now.map((other, j) => (unit === other ? (j ? (lengths[j - 1] ?? 0) : 0) + 1 : 0));
    const length = Math.max(...lengths);
    if (length > best.length) best = { length, before: start + i - length + 1, after: start + lengths.indexOf(length) - length + 1 };
  }
  return best.length < MIN_RUN ? null : best;
}

/** Return the characters and the other parts of a text, each with its marks. */
function units(node: Node): string[] {
  return [...node.children].flatMap((child) => {
    const marks = JSON.stringify(child.marks);
    return child.isText ? child.text!.split("").map((character) => character + marks) : [JSON.stringify(child)];
  });
}

/** A mark that is open, and those around it. */
interface Open {
  mark: Mark;
  outer: Open | null;
}

/** A position in the document, one of its positions in the source, and the marks that are open there. */
interface Point {
  position: number;
  at: number;
  open: Open | null;
}

function pointsOf(pieces: Piece[]): Point[] {
  const points: Point[] = [{ position: 0, at: 0, open: null }];
  let position = 0;
  let open = null as Open | null;
  const add = (at: number) => points.push({ position, at, open });
  for (const { token, text, from, to } of pieces) {
    add(from);
    const outer = open;
    const isCode = token.type === "code_inline";
    if (token.nesting > 0 || isCode) open = { mark: markOf(token), outer };
    if (token.nesting < 0) open = outer?.outer ?? null;
    const start = isCode ? from + (to - from - text!.length) / 2 : from;
    if (isCode) add(start);
    // An escaped character and an entity have positions at their ends only.
    const isLiteral = text !== null && (isCode || to - from === text.length);
    if (isLiteral) for (let index = 1; index <= text.length; index++) (position++, add(start + index));
    else position += text?.length ?? (token.nesting ? 0 : 1);
    if (isCode) open = outer;
    add(to);
  }
  return points;
}

interface Range {
  from: number;
  to: number;
  nodes: Node[];
}

/** Return the ranges of the source that contain all differences and no part of a mark, each with its new content. The smallest is first. */
function rangesOf(points: Point[], before: Node, after: Node): Range[] {
  const start = before.content.findDiffStart(after.content) ?? 0;
  let { a, b } = before.content.findDiffEnd(after.content) ?? { a: 0, b: 0 };
  const overlap = Math.max(0, start - Math.min(a, b));
  [a, b] = [a + overlap, b + overlap];
  const best = new Map<Open | null, Point[]>();
  for (const point of points) {
    if (!best.has(point.open)) best.set(point.open, []);
    best.get(point.open)!.push(point);
  }
  const ranges = [...best].flatMap(([open, own]) => {
    // Also with what is beside the range: a mark beside letters may need another notation.
    const outer = (edge: number) => own.filter(({ position }) => position <= edge).at(-1);
    const inner = (edge: number, first?: Point) => (first && first.position >= edge ? first : own.find(({ position }) => position >= edge));
    return [[start, a], [start - 1, a], [start, a + 1], [start - 1, a + 1]].flatMap(([left, right]) => {
      const first = outer(left!);
      const last = inner(right!, first);
      if (!first || !last) return [];
      const nodes = after.cut(first.position, b + last.position - a).children.map((node) => without(node, open));
      return nodes.includes(null) ? [] : [{ from: first.at, to: last.at, nodes: nodes as Node[], size: last.position - first.position, depth: depthOf(open) }];
    });
  });
  return ranges.sort((one, two) => one.size - two.size || two.depth - one.depth).slice(0, MAX_RANGES);
}

/** Return a node without marks that are open, or null if it does not have all of them. */
function without(node: Node, open: Open | null): Node | null {
  if (!open) return node;
  const { mark, outer } = open;
  return mark.isInSet(node.marks) ? without(node.mark(mark.removeFromSet(node.marks)), outer) : null;
}

function depthOf(open: Open | null): number {
  return open ? 1 + depthOf(open.outer) : 0;
}

/** Return for each child of a node the part that it was, or null. */
function pairs(part: Part, node: Node): (Part | null)[] {
  const isLike = (a: Node, b: Node) => a.type === b.type || (a.isTextblock && b.isTextblock);
  const nodes = part.children.map((child) => child.node);
  return matches(nodes, [...node.children], (a, b) => a.eq(b), isLike).map((index) => part.children[index] ?? null);
}

/** Return for each new node the index of the old one: equal ones at both ends, and the most like ones between them in their order. */
function matches(old: Node[], now: Node[], isSame: (a: Node, b: Node) => boolean, isLike: (a: Node, b: Node) => boolean): number[] {
  const [head, tail] = shared(old, now, isSame);
  const end = old.length - tail;
  let next = head;
  const same = (node: Node) => old.findIndex((each, at) => at >= next && at < end && isSame(each, node));
  return now.map((node, index) => {
    if (index < head) return index;
    if (index >= now.length - tail) return index - now.length + old.length;
    const later = now.slice(index + 1, now.length - tail).map(same);
    const anchor = later.findIndex((at) => at >= 0);
    const [limit, count] = anchor < 0 ? [end, later.length + 1] : [later[anchor]!, anchor + 1];
    let match = same(node);
    if (match < 0) {
      const likes = [...old.keys()].filter((at) => at >= next && at < limit && isLike(old[at]!, node));
      // The other new nodes get old ones too, if there are enough. Otherwise those are new that do not begin or end like an old one.
      const isEnough = count <= limit - next;
      let likeness = isEnough ? -1 : 0;
      for (const at of isEnough ? likes.slice(0, Math.max(1, likes.length - count + 1)) : likes) {
        const like = likenessOf(old[at]!.textContent, node.textContent);
        if (like > likeness) [match, likeness] = [at, like];
      }
    }
    if (match >= 0) next = match + 1;
    return match;
  });
}

/** Return how many characters two texts have in common at their ends. */
function likenessOf(a: string, b: string): number {
  const [head, tail] = shared([...a], [...b]);
  return a === b ? Infinity : head + tail;
}

/** Return the lengths of the common start and of the common end of two lists. */
function shared<T>(old: T[], now: T[], isSame: (a: T, b: T) => boolean = Object.is): [number, number] {
  const limit = Math.min(old.length, now.length);
  let [head, tail] = [0, 0];
  while (head < limit && isSame(old[head]!, now[head]!)) head++;
  while (tail < limit - head && isSame(old.at(-1 - tail)!, now.at(-1 - tail)!)) tail++;
  return [head, tail];
}

function linesOf(lines: string[], from: number, to: number): Line[] {
  return lines.slice(from, to).map((text, index) => ({ text, at: from + index }));
}

function newLines(text: string): Line[] {
  return text.split("\n").map((line) => ({ text: line, at: null }));
}

function columns(text: string): number {
  return [...text].reduce((column, character) => (character === "\t" ? column + 4 - (column % 4) : column + 1), 0);
}

/** Return the white space at the start of a line, up to a width. */
function marginOf(line: string, width: number): string {
  let end = 0;
  while (columns(line.slice(0, end)) < width && /[ \t]/.test(line[end] ?? "")) end++;
  return line.slice(0, end);
}
