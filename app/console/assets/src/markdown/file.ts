// A Markdown file as a ProseMirror document, and the text of the file after edits.
import type { Node } from "prosemirror-model";
import { merge } from "./merge.ts";
import { parseNodes, split } from "./parse.ts";
import { schema } from "./schema.ts";
import { type Style, styleOf } from "./style.ts";
import { type Context, isSource, withoutOuterSpace, write, writeExactly } from "./write.ts";

interface OriginalBlock {
  raw: string;
  node: Node;
  written: string | null;
}

/** The text as it was loaded: blocks and the blank text around them. `gaps[i]` precedes block i, the last one ends the text. */
export class MarkdownFile {
  readonly doc: Node;
  private readonly blocks: OriginalBlock[] = [];
  private readonly gaps: string[] = [];
  private readonly context: Context;
  private readonly lineEnd: string;

  constructor(text: string, isMdx = false) {
    const { blocks, references } = split(text, isMdx);
    const style: Style = styleOf(blocks.flatMap(({ node }) => (node ? [node] : [])));
    this.context = { references, style, isMdx };
    this.lineEnd = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
    let position = 0;
    for (const [key, { start, end, node, label }] of blocks.entries()) {
      const raw = text.slice(start, end);
      const written = node && writeExactly(node, this.context);
      const shown =
        node && written !== null
          ? node.type.create({ ...node.attrs, key }, node.content)
          : schema.nodes.source_block!.create({ key, label }, raw ? schema.text(lineFeeds(raw)) : null);
      this.gaps.push(text.slice(position, start));
      this.blocks.push({ raw, node: shown, written });
      position = end;
    }
    this.gaps.push(text.slice(position));
    const nodes = this.blocks.map((block) => block.node);
    this.doc = schema.nodes.doc!.create(null, nodes.length ? nodes : schema.nodes.paragraph!.create());
  }

  /** Return the text of the file for an edited document. Blocks that were not edited keep their bytes. */
  text(doc: Node): string {
    const nodes = [...doc.children].filter((node) => node.type !== schema.nodes.paragraph || node.childCount > 0);
    const edited = nodes.map((node) => this.isEdited(node));
    let output = this.gaps[0]!;
    if (this.blocks.length === 0) output = "";
    let previous: { node: Node; text: string; isEdited: boolean } | null = null;
    for (const [index, node] of nodes.entries()) {
      let text = edited[index] ? this.write(node) : this.blocks[node.attrs.key]!.raw;
      if (previous) {
        const gap = this.gap(previous.node, node);
        if (gap !== null && !previous.isEdited && !edited[index]) {
          output += gap;
        } else {
          const joined = this.join(previous, gap, node, text);
          output += joined.gap;
          text = joined.text;
        }
      }
      output += text;
      previous = { node, text, isEdited: edited[index]! };
    }
    if (!previous) return this.blocks.length ? "" : this.gaps[0]!;
    return output + (this.blocks.length ? this.gaps.at(-1)! : this.lineEnd);
  }

  private isEdited(node: Node): boolean {
    const block = this.blocks[node.attrs.key];
    return !block || (block.node !== node && !block.node.eq(node));
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
    const node = withoutOuterSpace(edited);
    const mine = write(node, this.context);
    let text = mine;
    if (block && block.written !== null && node.type !== schema.nodes.source_block) {
      const raw = lineFeeds(block.raw);
      const candidates = (["word", "line"] as const).map((unit) => merge(block.written!, raw, mine, unit));
      text = candidates.find((each) => isSource(each, node, this.context)) ?? mine;
    }
    return text.replaceAll("\n", this.lineEnd);
  }

  /** Return the blank text between an edited node and its neighbour, so that parsing the result separates the two. */
  private join(previous: { node: Node; text: string }, gap: string | null, node: Node, text: string) {
    const blankLine = this.lineEnd + this.lineEnd;
    const preferred = gap ?? this.newGap(previous.node, node);
    if (previous.node.type === schema.nodes.source_block || this.separates(previous.text, preferred, text)) return { gap: preferred, text };
    if (this.separates(previous.text, blankLine, text)) return { gap: blankLine, text };
    const other = this.withOtherMarker(node);
    if (other && this.separates(previous.text, blankLine, other)) return { gap: blankLine, text: other };
    return { gap: `${blankLine}<!-- -->${blankLine}`, text };
  }

  /** Return whether the nodes of two texts are the same apart and together. HTML and tables need a blank line. */
  private separates(before: string, gap: string, after: string): boolean {
    const [first, second, both] = [before, after, before + gap + after].map((text) => parseNodes(lineFeeds(text), this.context.references));
    if (!first || !second || !both) return hasBlankLine(gap);
    const apart = [...first, ...second];
    return both.length === apart.length && both.every((node, index) => node.eq(apart[index]!));
  }

  private withOtherMarker(node: Node): string | null {
    if (node.type === schema.nodes.bullet_list) {
      const marker = (node.attrs.marker ?? this.context.style.bullet) === "-" ? "*" : "-";
      return this.write(node.type.create({ ...node.attrs, key: null, marker }, node.content));
    }
    if (node.type === schema.nodes.ordered_list) {
      const delimiter = (node.attrs.delimiter ?? this.context.style.delimiter) === "." ? ")" : ".";
      return this.write(node.type.create({ ...node.attrs, key: null, delimiter }, node.content));
    }
    return null;
  }
}

function hasBlankLine(text: string): boolean {
  return /\n[^\S\n]*\n/.test(lineFeeds(text));
}

function lineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
