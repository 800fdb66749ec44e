// Random edits of a page, each with what must hold: only the touched block differs, undo and the opposite edit return the first bytes.
import MarkdownIt from "markdown-it";
import type { Node } from "prosemirror-model";
import { splitListItem } from "prosemirror-schema-list";
import { EditorState, TextSelection, type Transaction } from "prosemirror-state";
import { MarkdownFile } from "../../src/markdown/file.ts";
import { split } from "../../src/markdown/parse.ts";
import { schema } from "../../src/markdown/schema.ts";
import { normalized } from "../../src/markdown/compare.ts";

export const KINDS = ["word", "start", "end", "edge", "delete", "strong", "em", "code", "link", "block", "item"] as const;
export type Kind = (typeof KINDS)[number];

export interface Result {
  kind: Kind;
  /** What does not hold, or "". */
  fault: string;
  /** Whether only the typed characters were added. */
  isExact: boolean;
  before: string;
  after: string;
}

export function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface Leaf {
  node: Node;
  start: number;
  parents: Node[];
}

function leavesOf(doc: Node): Leaf[] {
  const leaves: Leaf[] = [];
  const add = (node: Node, start: number, parents: Node[]) => {
    if (node.isTextblock && node.type !== schema.nodes.source_block) leaves.push({ node, start, parents });
    else node.forEach((child, offset) => add(child, start + offset + 1, [...parents, node]));
  };
  doc.forEach((node, offset) => add(node, offset + 1, [doc]));
  return leaves;
}

const plain = new MarkdownIt({ html: true });

/** Return the lines of the text that may differ after an edit of a leaf, or null if they are not known. */
function linesOf(text: string, file: MarkdownFile, leaf: Leaf, isMdx: boolean): [number, number] | null {
  const index = [...file.doc.children].findIndex((node) => node === leaf.node || node === leaf.parents[1]);
  const { blocks } = split(text, isMdx);
  const block = file.doc.child(index);
  if (blocks.length !== file.doc.childCount) return null;
  const { start, end } = blocks[index]!;
  const first = text.slice(0, start).split("\n").length - 1;
  const source = text.slice(start, end);
  let row: [number, number] = [-1, -1];
  let heading: [number, number] = [-1, -1];
  const maps = plain.parse(source, {}).flatMap((token): [number, number][] => {
    if (token.type === "tr_open") row = token.map!;
    if (token.type === "heading_open") heading = token.map!;
    return token.type === "heading_close" ? [heading] : token.type === "inline" && token.map?.[0] === heading[0] ? [] : token.type === "inline" ? [token.map ?? row] : /^(?:fence|code_block)$/.test(token.type) ? [token.map!] : [];
  });
  const leaves: Node[] = [];
  const add = (node: Node) => (node.isTextblock ? void leaves.push(node) : node.forEach(add));
  add(block);
  const filled = leaves.filter((node) => node.childCount || node.type !== schema.nodes.paragraph);
  const own = maps[filled.indexOf(leaf.node)];
  return own && maps.length === filled.length ? [first + own[0], first + own[1]] : [first, first + source.split("\n").length];
}

/** Return what readers see. */
export function shown(doc: Node): string {
  const read = (node: Node): unknown => {
    const { type, attrs } = node;
    // A text that is one shortcode is a block of its own when it is read again.
    if (type === schema.nodes.source_block || type === schema.nodes.card || (type === schema.nodes.paragraph && node.childCount === 1 && node.firstChild!.type === schema.nodes.raw_inline)) return ["source", node.textContent.trim() || attrs.source];
    if (node.isText && !node.text!.trim()) return [node.text];
    if (node.isText) return [node.text, ...node.marks.map((mark) => (mark.type.name === "link" ? `link ${mark.attrs.href}` : mark.type.name)).sort()];
    const own = ["level", "task", "order", "align", "src", "alt", "text", "info", "source"].map((name) => attrs[name]);
    return [type.name, ...own, type.name.endsWith("_break") ? "" : node.isTextblock ? joined(pieces(node).map(read)) : [...node.children].map(read)];
  };
  const nodes = [...doc.children].map((node) => (node.type === schema.nodes.card || node.type === schema.nodes.source_block ? node : normalized(node)));
  return JSON.stringify(nodes.filter((node) => node.type !== schema.nodes.paragraph || node.childCount).map(read), null, 0);
}

function pieces(node: Node): Node[] {
  const isBreak = (child?: Node) => child?.type.name.endsWith("_break");
  return [...node.children].flatMap((child, index, all) => {
    if (!child.isText) return [child];
    let text = child.text!;
    if (isBreak(all[index - 1])) text = text.trimStart();
    if (isBreak(all[index + 1])) text = text.trimEnd();
    return text ? [schema.text(text, child.marks)] : [];
  }).flatMap((child) => (child.isText ? child.text!.split(/(\s+)/).filter(Boolean).map((text) => schema.text(text, child.marks)) : [child]));
}

/** Join texts with the same marks. Spaces have none. */
function joined(items: unknown[]): unknown[] {
  const result: unknown[][] = [];
  for (const item of items as unknown[][]) {
    const last = result.at(-1);
    if (last && typeof item[0] === "string" && last.slice(1).join() === item.slice(1).join() && last.length === item.length && last.length < 8) last[0] = `${last[0]}${item[0]}`;
    else result.push([...item]);
  }
  return result;
}

const WORDS = ["Zz", " Zz", "Zz ", "Zz qy"];

/** Apply one random edit to a file and return what does not hold. */
export function tryEdit(text: string, file: MarkdownFile, kind: Kind, next: (below: number) => number, isMdx: boolean): Result | null {
  const leaves = leavesOf(file.doc).filter(({ node, parents }) => fits(kind, node, parents));
  if (!leaves.length) return null;
  const leaf = leaves[next(leaves.length)]!;
  const { node, start } = leaf;
  const state = EditorState.create({ doc: file.doc });
  const size = node.content.size;
  const tr = state.tr;
  let typed: [number, number] | null = null;
  const word = WORDS[next(WORDS.length)]!;
  if (kind === "word" || kind === "start" || kind === "end" || kind === "edge") {
    const edges = edgesOf(node);
    if (kind === "edge" && !edges.length) return null;
    const offset = kind === "start" ? 0 : kind === "end" ? size : kind === "edge" ? edges[next(edges.length)]! : next(size + 1);
    if (isInPair(node, offset)) return null;
    const inserted = offset === 0 ? word.trimStart() : offset === size ? word.trimEnd() : word;
    tr.insertText(inserted, start + offset);
    typed = [start + offset, start + offset + inserted.length];
  } else if (kind === "delete") {
    const from = next(size);
    const to = Math.min(size, from + 1 + next(8));
    if (isInPair(node, from) || isInPair(node, to)) return null;
    tr.delete(start + from, start + to);
  } else if (kind === "block") {
    const depth = leaf.parents.length;
    const end = depth === 1 ? start + size + 1 : file.doc.resolve(start).after(1);
    tr.insert(end, schema.nodes.paragraph!.create(null, schema.text("Zz new")));
    typed = [end, end + 8];
  } else if (kind === "item") {
    let after = state.apply(state.tr.setSelection(TextSelection.create(state.doc, start + size)));
    if (!splitListItem(schema.nodes.list_item!)(after, (each) => (after = after.apply(each.insertText("Zz new"))))) return null;
    return check(text, file, kind, leaf, state.tr.replaceWith(0, state.doc.content.size, after.doc.content), null, isMdx);
  } else {
    const words = [...node.textBetween(0, size, "\0", "\0").matchAll(/[\p{L}\p{M}\p{N}]+/gu)];
    if (!words.length) return null;
    const match = words[next(words.length)]!;
    const mark = schema.marks[kind]!.create(kind === "link" ? { href: "/zz" } : null);
    tr.addMark(start + match.index, start + match.index + match[0].length, mark);
    if (!tr.docChanged) return null;
  }
  return check(text, file, kind, leaf, tr, typed, isMdx);
}

function fits(kind: Kind, node: Node, parents: Node[]): boolean {
  if (kind === "item") return parents.at(-1)!.type === schema.nodes.list_item && parents.at(-1)!.lastChild === node && node.content.size > 0;
  if (kind === "block") return parents[1] === undefined || parents[1]?.type !== schema.nodes.table;
  if (["strong", "em", "code", "link"].includes(kind)) return !node.type.spec.code;
  return kind !== "delete" || node.content.size > 0;
}

function isInPair(node: Node, offset: number): boolean {
  const around = node.textBetween(Math.max(0, offset - 1), Math.min(node.content.size, offset + 1), "", "");
  return /^[\ud800-\udbff]/.test(around) && around.length === 2;
}

function edgesOf(node: Node): number[] {
  const edges: number[] = [];
  node.forEach((child, offset) => {
    if (child.marks.length) edges.push(offset, offset + child.nodeSize);
  });
  return edges;
}

function check(text: string, file: MarkdownFile, kind: Kind, leaf: Leaf, tr: Transaction, typed: [number, number] | null, isMdx: boolean): Result {
  const after = file.text(tr.doc);
  const result: Result = { kind, fault: "", isExact: isInsertion(text, after, typed ? typed[1] - typed[0] : 0), before: text, after };
  let back = tr.doc;
  for (const [index, step] of [...tr.steps.entries()].reverse()) back = step.invert(tr.docs[index]!).apply(back).doc!;
  if (file.text(back) !== text) return { ...result, fault: "undo" };
  const again = new MarkdownFile(after, isMdx);
  if (shown(again.doc) !== shown(tr.doc)) return { ...result, fault: "read" };
  const lines = linesOf(text, file, leaf, isMdx);
  // A block without text is no block: what follows it takes its place.
  const isEmptied = kind === "delete" && tr.doc.content.size === file.doc.content.size - leaf.node.content.size;
  if (lines && !isEmptied && !isLocal(text, after, lines, kind)) return { ...result, fault: "spread" };
  if (typed && result.isExact && kind !== "block" && again.doc.content.size === tr.doc.content.size) {
    const { tr: removal } = EditorState.create({ doc: again.doc });
    if (again.text(removal.delete(...typed).doc) !== text) return { ...result, fault: "removed" };
  }
  return result;
}

function isInsertion(before: string, after: string, length: number): boolean {
  let head = 0;
  while (head < before.length && before[head] === after[head]) head++;
  return after.endsWith(before.slice(head)) && after.length - before.length === length;
}

/** Return whether only lines of a range differ. A new block or item adds lines, and changes the numbers of items below. */
function isLocal(before: string, after: string, [from, to]: [number, number], kind: Kind): boolean {
  if (before === after) return true;
  const unnumbered = (line: string) => (kind === "item" ? line.replace(/^[\s>]*\d+([.)])\s*/, "#$1").replace(/^\s+/, "") : line);
  const [old, now] = [before, after].map((text) => text.split("\n").map(unnumbered)) as [string[], string[]];
  let [head, tail] = [0, 0];
  while (head < old.length && old[head] === now[head]) head++;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  if (kind === "item" || kind === "block") return head + tail === old.length;
  const rest = old.slice(to);
  const isSame = (a: string[], b: string[]) => a.join("\n") === b.join("\n");
  return isSame(old.slice(0, from), now.slice(0, from)) && isSame(rest, now.slice(now.length - rest.length)) && now.length >= from + rest.length;
}
