// ProseMirror nodes to Markdown. A text that needs no backslashes gets none.
import { MarkdownSerializer, type MarkdownSerializerState, defaultMarkdownSerializer } from "prosemirror-markdown";
import type { Mark, Node } from "prosemirror-model";
import { type References, parseNodes } from "./parse.ts";
import { schema } from "./schema.ts";

type Write = (state: MarkdownSerializerState, node: Node, parent: Node, index: number) => void;

const { blockquote, list_item, paragraph } = defaultMarkdownSerializer.nodes as Record<string, Write>;
const { link, code } = defaultMarkdownSerializer.marks as Record<string, { open: MarkText; close: MarkText; mixable: boolean }>;

type MarkText = (state: MarkdownSerializerState, mark: Mark, parent: Node, index: number) => string;

function serializer(escape: boolean): MarkdownSerializer {
  const nodes: Record<string, Write> = {
    blockquote: blockquote!,
    list_item: list_item!,
    paragraph: paragraph!,
    heading(state, node) {
      const { level, underline } = node.attrs;
      if (!underline) state.write(`${"#".repeat(level)} `);
      state.renderInline(node, false);
      if (underline) state.write(`\n${underline.repeat(3)}`);
      state.closeBlock(node);
    },
    code_block(state, node) {
      const mark = node.attrs.fence[0];
      if (!mark) {
        state.wrapBlock("    ", null, node, () => state.text(node.textContent, false));
        return;
      }
      const runs = node.textContent.match(mark === "~" ? /~{3,}/g : /`{3,}/g) ?? [];
      const fence = mark.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
      state.write(`${fence}${node.attrs.info}\n`);
      state.text(node.textContent, false);
      if (node.textContent) state.write("\n");
      state.write(fence);
      state.closeBlock(node);
    },
    source_block(state, node) {
      state.text(node.textContent, false);
      state.closeBlock(node);
    },
    horizontal_rule(state, node) {
      state.write(node.attrs.markup);
      state.closeBlock(node);
    },
    bullet_list(state, node) {
      state.renderList(node, "  ", () => `${node.attrs.marker} `);
    },
    ordered_list(state, node) {
      const { order, delimiter } = node.attrs;
      const width = String(order).length + 2;
      state.renderList(node, " ".repeat(width), (index) => `${order + index}${delimiter} `);
    },
    image(state, node) {
      const { src, alt, title } = node.attrs;
      const target = /[\s()<>]/.test(src) ? `<${src}>` : src;
      state.write(`![${alt}](${target}${title ? ` "${title.replaceAll('"', '\\"')}"` : ""})`);
    },
    hard_break(state, node) {
      state.write(node.attrs.markup === "\\" ? "\\\n" : "  \n");
    },
    soft_break(state) {
      state.write("\n");
    },
    raw_inline(state, node) {
      state.text(node.attrs.text, false);
    },
    text(state, node) {
      state.text(node.text!, escape && !(state as { inAutolink?: boolean }).inAutolink);
    },
  };
  const delimiter = (_state: MarkdownSerializerState, mark: Mark): string => mark.attrs.markup;
  return new MarkdownSerializer(nodes, {
    em: { open: delimiter, close: delimiter, mixable: true, expelEnclosingWhitespace: true },
    strong: { open: delimiter, close: delimiter, mixable: true, expelEnclosingWhitespace: true },
    strike: { open: "~~", close: "~~", mixable: true, expelEnclosingWhitespace: true },
    link: {
      ...link!,
      close(state, mark, parent, index) {
        if (!/[\s()<>]/.test(mark.attrs.href)) return link!.close(state, mark, parent, index);
        const { title, href } = mark.attrs;
        return `](<${href}>${title ? ` "${title.replaceAll('"', '\\"')}"` : ""})`;
      },
    },
    code: code!,
  });
}

const plain = serializer(false);
const escaped = serializer(true);

/** Write one top-level node with line feeds. */
export function write(node: Node, references: References): string {
  return writeExactly(node, references) ?? trimmed(escaped, node);
}

/** Write one top-level node, or return null if parsing the result does not return the node. */
export function writeExactly(node: Node, references: References): string | null {
  if (node.type === schema.nodes.source_block) return node.textContent;
  for (const each of [plain, escaped]) {
    const text = trimmed(each, node);
    if (isSource(text, node, references)) return text;
  }
  return null;
}

/** Return whether a text is the source of exactly this node. */
export function isSource(text: string, node: Node, references: References): boolean {
  const nodes = parseNodes(text, references);
  return nodes?.length === 1 && nodes[0]!.eq(withoutKey(node));
}

/** Return a top-level node without the index of its block. */
export function withoutKey(node: Node): Node {
  return node.attrs.key === null ? node : node.type.create({ ...node.attrs, key: null }, node.content, node.marks);
}

/** Return a paragraph or heading without spaces at its ends, which Markdown does not have. Return other nodes unchanged. */
export function withoutOuterSpace(node: Node): Node {
  if (!node.inlineContent || node.type.spec.code || node.attrs.key === undefined) return node;
  const [first, last] = [node.firstChild?.text ?? "", node.lastChild?.text ?? ""];
  const start = first.length - first.trimStart().length;
  const end = node.content.size - (last.length - last.trimEnd().length);
  return start < end && (start || end < node.content.size) ? node.cut(start, end) : node;
}

function trimmed(each: MarkdownSerializer, node: Node): string {
  return each.serialize(schema.nodes.doc!.create(null, node)).replace(/\n+$/, "");
}
