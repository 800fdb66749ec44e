// A Markdown file as a ProseMirror document, and the text of the file after edits.
import type { Node } from "prosemirror-model";
import { normalized, withoutOuterSpace } from "./compare.ts";
import { definitionsOf, outlineOf, split } from "./parse.ts";
import { schema } from "./schema.ts";
import { splice } from "./splice.ts";
import { type Style, styleOf } from "./style.ts";
import { type Context, resolve, write } from "./write.ts";

interface OriginalBlock {
  raw: string;
  node: Node;
}

/** A top-level node of the edited document, its text, and the blank text before it. */
interface Part {
  node: Node;
  gap: string;
  text: string;
  isEdited: boolean;
}

/** The text as it was loaded: blocks and the blank text around them. `gaps[i]` precedes block i, the last one ends the text. */
export class MarkdownFile {
  readonly doc: Node;
  private readonly blocks: OriginalBlock[] = [];
  private readonly gaps: string[] = [];
  private readonly context: Context;
  readonly lineEnd: string;

  constructor(text: string, isMdx = false) {
    const { blocks, references } = split(text, isMdx);
    const style: Style = styleOf(blocks.flatMap(({ node }) => (node ? [node] : [])));
    this.context = { references, style, isMdx };
    this.lineEnd = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
    let position = 0;
    for (const [key, { start, end, node, label }] of blocks.entries()) {
      const raw = text.slice(start, end);
      const shown = node
        ? node.type.create({ ...node.attrs, key }, node.content)
        : schema.nodes.source_block!.create({ key, label }, raw ? schema.text(lineFeeds(raw)) : null);
      this.gaps.push(text.slice(position, start));
      this.blocks.push({ raw, node: shown });
      position = end;
    }
    this.gaps.push(text.slice(position));
    const nodes = this.blocks.map((block) => block.node);
    this.doc = schema.nodes.doc!.create(null, nodes.length ? nodes : schema.nodes.paragraph!.create());
  }

  /** Return the text of the file for an edited document. Blocks that were not edited keep their bytes. */
  text(doc: Node): string {
    const isBlank = (node: Node) => node.type === schema.nodes.paragraph && (!node.childCount || (this.isEdited(node) && !withoutOuterSpace(node).childCount));
    const nodes = [...doc.children].filter((node) => !isBlank(node));
    const edited = nodes.map((node) => this.isEdited(node));
    if (!nodes.length) return this.blocks.length ? "" : this.gaps[0]!;
    const parts: Part[] = [];
    for (const [index, node] of nodes.entries()) {
      const part = { node, gap: "", text: edited[index] ? this.write(node) : this.blocks[node.attrs.key]!.raw, isEdited: edited[index]! };
      const previous = parts.at(-1);
      const gap = previous ? this.gap(previous.node, node) : "";
      if (gap !== null && !previous?.isEdited && !part.isEdited) part.gap = gap;
      else if (previous) this.join(parts, gap, part);
      parts.push(part);
    }
    const [start, end] = this.blocks.length ? [this.gaps[0]!, this.gaps.at(-1)!] : ["", this.lineEnd];
    const output = start + parts.map((part) => part.gap + part.text).join("");
    const lost = this.lostDefinitions(nodes.filter((_node, index) => !edited[index]), output);
    return output + (lost.length ? this.lineEnd + this.lineEnd + lost.join(this.lineEnd) : "") + end;
  }

  /** Return the link addresses that an edit of other text removes: those inside of a formatted block, or below a list. */
  private lostDefinitions(unedited: Node[], output: string): string[] {
    const keys = new Set(unedited.map((node) => node.attrs.key));
    const isSame = (key: number) => keys.has(key) && (key === 0 || keys.has(key - 1));
    if (this.blocks.every(({ raw }, key) => isSame(key) || !raw.includes("]:"))) return [];
    const original = this.blocks.map(({ raw }, key) => this.gaps[key] + raw).join("");
    const [before, after] = [original, output].map((text) => definitionsOf(lineFeeds(text)));
    const sources = this.blocks.filter(({ node }, key) => node.type === schema.nodes.source_block && !keys.has(key));
    // The author sees the addresses of a source and has removed them.
    const removed = new Set(sources.flatMap(({ raw }) => [...definitionsOf(lineFeeds(raw).replace(/^[ \t]+/gm, "")).keys()]));
    return [...before!].filter(([label]) => !after!.has(label) && !removed.has(label)).map(([, line]) => line);
  }

  private isEdited(node: Node): boolean {
    const block = this.blocks[node.attrs.key];
    if (!block) return true;
    // A card that is shown as source is not edited.
    if (node.type === schema.nodes.source_block) return node.textContent !== lineFeeds(block.raw);
    return block.node !== node && !block.node.eq(node);
  }

  /** Return the original blank text between two nodes, or null if they were not neighbours. */
  private gap(before: Node, after: Node): string | null {
    const [first, second] = [before.attrs.key, after.attrs.key];
    return first !== null && second === first + 1 ? this.gaps[second]! : null;
  }

  /** Return the blank text before a node that has a new neighbour. */
  private newGap(before: Node, after: Node): string {
    const own = after.attrs.key && before.attrs.key !== after.attrs.key ? this.gaps[after.attrs.key]! : "";
    return hasBlankLine(own) ? own : this.lineEnd + this.lineEnd;
  }

  private write(edited: Node): string {
    const block = this.blocks[edited.attrs.key];
    // A card of this file has its own line ends.
    if (edited.type === schema.nodes.card && block) return edited.attrs.source;
    const node = normalized(resolve(edited, this.context.style));
    const isKept = block && block.node.type !== schema.nodes.source_block && node.type !== schema.nodes.source_block;
    const text = (isKept ? splice(lineFeeds(block.raw), block.node, node, this.context) : null) ?? write(node, this.context);
    return lineFeeds(text).replaceAll("\n", this.lineEnd);
  }

  /** Set the blank text between a part and the one before it, so that parsing the result separates the two. */
  private join(parts: Part[], gap: string | null, part: Part): void {
    const previous = parts.at(-1)!;
    const isEditedSource = ({ node, isEdited }: Part) => isEdited && node.type === schema.nodes.source_block;
    const blankLine = this.lineEnd + this.lineEnd;
    part.gap = gap ?? this.newGap(previous.node, part.node);
    // Front matter is no Markdown, and the author of a source decides what it is.
    if (previous.node.attrs.label === "Front matter" || isEditedSource(previous) || isEditedSource(part)) return;
    if (this.separates(previous.text, part.gap, part.text)) return;
    const isSource = previous.node.type === schema.nodes.source_block;
    const preferred = part.gap;
    part.gap = blankLine;
    if (this.separates(previous.text, blankLine, part.text)) return;
    const fence = previous.node.type === schema.nodes.code_block && /^[ \t]*(`{3,}|~{3,})/.exec(previous.text)?.[1];
    const closed = previous.text + this.lineEnd + fence;
    if (fence && this.separates(closed, blankLine, part.text)) {
      previous.text = closed;
      return;
    }
    // A list beside a list needs another marker. Only if both are as they were read, one of them is written again.
    const before = parts.at(-2);
    for (const [list, isOther] of [[part, part.isEdited], [previous, previous.isEdited], [part, !isSource]] as const) {
      for (const text of isOther ? this.withOtherMarkers(list.node) : []) {
        const [first, second] = list === part ? [previous.text, text] : [text, part.text];
        if (!this.separates(first, blankLine, second) || (list === previous && before && !this.separates(before.text, previous.gap, text))) continue;
        list.text = text;
        list.isEdited = true;
        return;
      }
    }
    part.gap = isSource ? preferred : `${blankLine}<!-- -->${blankLine}`;
  }

  /** Return whether the blocks of two texts are the same apart and together. */
  private separates(before: string, gap: string, after: string): boolean {
    if (hasBlankLine(gap) && !outlineOf(lineFeeds(after).replace(/^[ \t]+/gm, ""), {}).length) return true; // Link addresses.
    const [first, second, both] = [before, after, before + gap + after].map((text) => outlineOf(lineFeeds(text), this.context.references));
    return [...first!, ...second!].join("\n") === both!.join("\n");
  }

  /** Return a list with each other marker of its type. */
  private withOtherMarkers(node: Node): string[] {
    const [name, markers] = node.type === schema.nodes.bullet_list ? ["marker", "-*+"] : ["delimiter", node.type === schema.nodes.ordered_list ? ".)" : ""];
    const own = node.attrs[name] ?? (name === "marker" ? this.context.style.bullet : this.context.style.delimiter);
    const others = [...markers].filter((marker) => marker !== own);
    return others.map((marker) => this.write(node.type.create({ ...node.attrs, key: null, [name]: marker }, node.content)));
  }
}

function hasBlankLine(text: string): boolean {
  return /\n[^\S\n]*\n/.test(lineFeeds(text));
}

function lineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
