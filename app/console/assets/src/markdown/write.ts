// ProseMirror nodes to Markdown in the notation of the file. A text that needs no backslashes gets none. Each text that was
// written is parsed again and compared; the next, safer form is used if it differs.
import { MarkdownSerializer, type MarkdownSerializerState, defaultMarkdownSerializer } from "prosemirror-markdown";
import { Fragment, type Mark, type Node } from "prosemirror-model";
import { comparable, isBreak, isCell, isOneLine } from "./compare.ts";
import { linkTarget } from "./links.ts";
import { EXTENSION_START, type References, isMdxCode, parseInline, parseNodes } from "./parse.ts";
import { cellForm, schema } from "./schema.ts";
import type { Style } from "./style.ts";

type MarkText = (state: MarkdownSerializerState, mark: Mark, parent: Node, index: number) => string;

const { link, code } = defaultMarkdownSerializer.marks as Record<string, { open: MarkText; close: MarkText; mixable: boolean; escape?: boolean }>;

/** What the writer must know of a file. */
export interface Context {
  references: References;
  style: Style;
  isMdx: boolean;
  /** Contents and the texts from which they were read. */
  known?: { content: Fragment; text: string }[];
}

/** A form of a text. `plain` needs no backslash, `strict` escapes all that any dialect reads as markup and marks with asterisks, `html` writes marks as HTML. */
export type Form = "plain" | "escaped" | "strict" | "html";
export const FORMS: Form[] = ["plain", "escaped", "strict", "html"];
const TAGS: Record<string, string> = { strong: "<strong>", em: "<em>", strike: "<del>" };

function serializer(form: Form, isMdx: boolean): MarkdownSerializer {
  const isStrict = form === "strict" || form === "html";
  let isAutolink = false;
  const inline = (state: MarkdownSerializerState, node: Node) => state.renderInline(node, node.type === schema.nodes.paragraph);
  const delimiter = (_state: MarkdownSerializerState, mark: Mark): string => {
    const markup: string = mark.attrs.markup;
    if (form === "html" && !markup.startsWith("<")) return TAGS[mark.type.name]!;
    // An underscore beside a letter marks nothing.
    return isStrict ? markup.replaceAll("_", "*") : markup;
  };
  const close = (state: MarkdownSerializerState, mark: Mark): string => delimiter(state, mark).replace(/^<(?=[a-z])/, "</");
  const mark = { open: delimiter, close, mixable: true, expelEnclosingWhitespace: true };
  return new MarkdownSerializer(
    {
      paragraph: inline,
      heading: inline,
      table_cell: inline,
      table_header: inline,
      image(state, node) {
        const { src, title } = node.attrs;
        const alt = form === "plain" ? node.attrs.alt : node.attrs.alt.replace(/[[\]\\]/g, "\\$&");
        state.write(`![${alt}](${linkTarget(src)}${title ? ` "${title.replaceAll('"', '\\"')}"` : ""})`);
      },
      hard_break(state, node, parent) {
        const isHtml = form === "html" || isOneLine(parent) || node.attrs.markup.startsWith("<");
        if (isHtml) state.write(node.attrs.markup.startsWith("<") ? node.attrs.markup : "<br />");
        else state.write(node.attrs.markup === "\\" ? "\\\n" : "  \n");
      },
      soft_break(state) {
        state.write("\n");
      },
      raw_inline(state, node) {
        state.text(node.attrs.text, false);
      },
      text(state, node, parent, index) {
        if (form === "plain" || isAutolink) return state.text(node.text!, false);
        const before = parent.maybeChild(index - 1);
        const escaped = state.esc(node.text!, !before && parent.type === schema.nodes.paragraph && !isStrict);
        const text = isStrict ? escapeMarkup(escaped, isMdx) : escaped;
        const isLineStart = before ? isBreak(before) && node.marks.every((mark) => mark.isInSet(before.marks)) : !node.marks.length;
        state.text(isLineStart ? escapeLineStart(text) : text, false);
      },
    },
    {
      em: mark,
      strong: mark,
      strike: mark,
      link: {
        ...link!,
        open(state, linkMark, parent, index) {
          const text = linkMark.attrs.label === null ? link!.open(state, linkMark, parent, index) : "[";
          isAutolink = text === "<";
          return text;
        },
        close(state, linkMark, parent, index) {
          isAutolink = false;
          if (linkMark.attrs.label !== null) return form === "plain" && linkText(parent, index, linkMark) === linkMark.attrs.label ? "]" : `][${linkMark.attrs.label}]`;
          if (!/[\s()<>]/.test(linkMark.attrs.href)) return link!.close(state, linkMark, parent, index);
          const { title, href } = linkMark.attrs;
          return `](${linkTarget(href)}${title ? ` "${title.replaceAll('"', '\\"')}"` : ""})`;
        },
      },
      // CommonMark removes a space from both ends of code.
      code: { ...code!, expelEnclosingWhitespace: true },
    },
  );
}

/** Return the text of a link that ends before the child at `index`. */
function linkText(parent: Node, index: number, mark: Mark): string {
  let start = index;
  while (start && mark.isInSet(parent.child(start - 1).marks)) start--;
  return parent.children.slice(start, index).map((node) => node.textContent).join("");
}

/** Escape HTML, entities, and the expressions of MDX, Hugo, Liquid and Jinja. Templates do not know backslashes, so they get entities. */
function escapeMarkup(text: string, isMdx: boolean): string {
  const markup = text.replace(/<|&(?=#?\w+;)/g, "\\$&").replace(/\{(?=[{%:#./]|$)/g, "&#123;");
  return isMdx ? markup.replace(/[{}]/g, "\\$&") : markup;
}

/** Escape the start of a line that Markdown would read as a list, a quote, a heading, a rule or the second line of a table. */
function escapeLineStart(text: string): string {
  return text.replace(/^[ \t]*(?=[-+](?:\s|$)|[-=:|][-=:| \t]*$|#{1,6}(?:\s|$)|>)/, "$&\\").replace(/^([ \t]*\d{1,9})(?=[.)](?:\s|$))/, "$1\\");
}

const serializers = new Map<string, MarkdownSerializer>();

function inlineText(node: Node, form: Form, isMdx: boolean): string {
  const name = `${form} ${isMdx}`;
  const writer = serializers.get(name) ?? serializer(form, isMdx);
  serializers.set(name, writer);
  return writer.serialize(schema.nodes.doc!.create(null, node));
}

/** Return the source of a paragraph, a heading or a cell in a form. The start of a paragraph may be markup of an extension or, in MDX, of JavaScript. */
export function leafText(node: Node, form: Form, { isMdx }: Context): string {
  const text = inlineText(node, form, isMdx);
  if (isCell(node)) return text.replaceAll("|", "\\|");
  if (form === "plain" || form === "escaped") return text;
  if (EXTENSION_START.test(text)) return text.replace(/^ *(?=\S)/, "$&\\");
  return isMdx ? text.replace(/^[ei](?=(?:mport|xport)\s)/, entity) : text;
}

/** Return whether a text is the source of the inline content of a node. */
export function isLeaf(text: string, node: Node, context: Context): boolean {
  return node.type === schema.nodes.paragraph ? isSource(text, node, context) : isInlineSource(text, node, context);
}

/** Return whether a text that starts no block is the source of the inline content of a node. */
export function isInlineSource(text: string, node: Node, context: Context): boolean {
  const source = isCell(node) ? text.replaceAll("\\|", "|") : text;
  const content = parseInline(source, context.references)?.content;
  return Boolean(content && !(context.isMdx && isMdxCode(source)) && comparable(node.copy(content)).content.eq(comparable(resolve(node, context.style)).content));
}

const DELIMITERS: Record<string, string> = { left: ":---", center: ":---:", right: "---:" };

/** Writer of blocks. Each text has the first form from `forms` that is read back as it is. */
export class BlockWriter {
  private readonly context: Context;
  private readonly forms: Form[];

  constructor(context: Context, forms = FORMS) {
    this.context = context;
    this.forms = forms;
  }

  write(node: Node): string {
    const { attrs } = node;
    switch (node.type) {
      case schema.nodes.heading: {
        if (attrs.underline) return `${this.inline(node)}\n${attrs.underline.repeat(3)}`;
        return `${"#".repeat(attrs.level)} ${this.inline(node)}`.trimEnd();
      }
      case schema.nodes.blockquote:
        return this.children(node, "\n\n").replace(/^/gm, "> ").replace(/^> $/gm, ">");
      case schema.nodes.bullet_list:
      case schema.nodes.ordered_list:
        return this.list(node);
      case schema.nodes.code_block:
        return codeBlock(node);
      case schema.nodes.horizontal_rule:
        return attrs.markup;
      case schema.nodes.source_block:
        return node.textContent;
      case schema.nodes.table:
        return this.table(node);
      default:
        return this.inline(node);
    }
  }

  inline(node: Node): string {
    const known = this.context.known?.find(({ content }) => content.size && content.eq(node.content));
    const texts = known && !isOneLine(node) ? [known.text] : [];
    for (const text of texts) if (isLeaf(text, node, this.context)) return text;
    const exact = this.forms.find((form) => isLeaf(leafText(node, form, this.context), node, this.context));
    return leafText(node, exact ?? this.forms.at(-1)!, this.context);
  }

  private table(table: Node): string {
    const [header, ...rows] = [...table.children].map((row) => this.row(row));
    return [header, rowText([...table.firstChild!.children].map(delimiterOf)), ...rows].join("\n");
  }

  row(row: Node): string {
    return rowText([...row.children].map((cell) => this.inline(cell).trim()));
  }

  private children(node: Node, between: string): string {
    return [...node.children].map((child) => this.write(child)).join(between);
  }

  private list(node: Node): string {
    const { tight, order, step, delimiter, marker } = node.attrs;
    const items = [...node.children].map((item, index) => {
      const lead = node.type === schema.nodes.ordered_list ? `${order + index * step}${delimiter}` : marker;
      return this.item(item, lead, node);
    });
    return items.join(tight ? "\n" : "\n\n");
  }

  private item(item: Node, lead: string, list: Node): string {
    const width = Math.max(list.attrs.gap || 0, lead.length + 1);
    const margin = " ".repeat(width);
    const parts = [...item.children].map((child, index) => {
      const isList = child.type === schema.nodes.bullet_list || child.type === schema.nodes.ordered_list;
      const own = isList && index > 0 ? child.attrs.indent : null;
      return indented(this.write(child), own && fits(own, width) ? own : margin);
    });
    if (item.attrs.task !== null) parts[0] = `${margin}[${item.attrs.task}] ${parts[0]!.slice(width)}`.trimEnd();
    const text = parts.join(list.attrs.tight ? "\n" : "\n\n");
    return text.trim() ? lead + " ".repeat(width - lead.length) + text.slice(width) : lead;
  }
}

function rowText(cells: string[]): string {
  return `| ${cells.join(" | ")} |`;
}

export function delimiterOf(header: Node): string {
  return DELIMITERS[header.attrs.align] ?? "---";
}

function indented(text: string, margin: string): string {
  return text.replace(/^(?=[^\n])/gm, margin);
}

/** Return whether a list with this white space before its markers is inside of an item whose text starts at column `width`. */
function fits(indent: string, width: number): boolean {
  const columns = [...indent].reduce((column, character) => (character === "\t" ? column + 4 - (column % 4) : column + 1), 0);
  return columns >= width && columns < width + 4;
}

export function codeBlock(node: Node): string {
  const { fence, info } = node.attrs;
  const text = node.textContent;
  const mark = fence[0];
  if (!mark) return indented(text, "    ");
  const runs = text.match(mark === "~" ? /~{3,}/g : /`{3,}/g) ?? [];
  const line = mark.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${line}${info}\n${text}${text && "\n"}${line}`;
}

/** Write one top-level node with line feeds, as HTML if Markdown has no form for it. */
export function write(node: Node, context: Context): string {
  return writeExactly(node, context) ?? html(node);
}

const ELEMENTS: Record<string, string> = {
  table: "table", table_row: "tr", table_cell: "td", table_header: "th", paragraph: "p", blockquote: "blockquote", bullet_list: "ul", ordered_list: "ol", list_item: "li", strong: "strong", em: "em", strike: "del", code: "code",
};

/** Return a node as HTML without an empty line, which would end the block. Readers see the same text. */
function html(node: Node): string {
  if (node.isText) {
    return node.marks.reduce((inner, mark) => {
      const tag = ELEMENTS[mark.type.name];
      return tag ? `<${tag}>${inner}</${tag}>` : `<a href="${entities(mark.attrs.href)}">${inner}</a>`;
    }, entities(node.text!));
  }
  const inner = [...node.children].map(html).join("");
  switch (node.type.name) {
    case "raw_inline":
      return node.attrs.text;
    case "hard_break":
      return "<br />";
    case "soft_break":
      return " ";
    case "horizontal_rule":
      return "<hr>";
    case "image":
      return `<img src="${entities(node.attrs.src)}" alt="${entities(node.attrs.alt)}">`;
    case "heading":
      return `<h${node.attrs.level}>${inner}</h${node.attrs.level}>`;
    case "code_block":
    case "source_block":
      return `<pre><code>${entities(node.textContent).replaceAll("\n", "&#10;")}</code></pre>`;
    default:
      return `<${ELEMENTS[node.type.name]}>${inner}</${ELEMENTS[node.type.name]}>`;
  }
}

function entities(text: string): string {
  return text.replace(/[&<>"{}]/g, entity);
}

function entity(character: string): string {
  return `&#${character.codePointAt(0)};`;
}

/** Write one top-level node, or return null if parsing the result does not return the node. */
export function writeExactly(node: Node, context: Context): string | null {
  if (node.type === schema.nodes.source_block || node.type === schema.nodes.card) return node.textContent;
  const resolved = resolve(node, context.style);
  for (const each of [resolved, loose(resolved), loose(fenced(resolved, context.style))]) {
    for (const forms of [FORMS, FORMS.slice(2)]) {
      const text = new BlockWriter(context, forms).write(each).replace(/\n+$/, "");
      if (isSource(text, each, context)) return text;
    }
  }
  return null;
}

/** Return whether a text is the source of exactly this node. */
export function isSource(text: string, node: Node, context: Context): boolean {
  const nodes = parseNodes(text, context.references);
  if (nodes?.length !== 1 || EXTENSION_START.test(text)) return false;
  if (context.isMdx && node.type !== schema.nodes.code_block && isMdxCode(text)) return false;
  return comparable(nodes[0]!).eq(comparable(resolve(node, context.style)));
}

/** Return a node whose notation is complete: that of the file where the node has none. */
export function resolve(node: Node, style: Style): Node {
  const attrs: Record<string, unknown> = { ...node.attrs };
  const set = (name: string, value: unknown) => {
    if (name in attrs) attrs[name] ??= value;
  };
  set("marker", style.bullet);
  set("delimiter", style.delimiter);
  set("fence", style.fence);
  set("gap", node.type === schema.nodes.bullet_list ? style.gap : 0);
  set("indent", style.indent);
  if (node.type === schema.nodes.hard_break) set("markup", style.hardBreak);
  if (node.type === schema.nodes.heading && !node.childCount) attrs.underline = "";
  if (node.type === schema.nodes.heading) set("underline", style.isSetext && attrs.level === 1 ? "=" : style.isSetext && attrs.level === 2 ? "-" : "");
  if (node.isText) return node.mark(node.marks.map((mark) => resolveMark(mark, style)));
  if (node.type === schema.nodes.table) return regular(node, style);
  const children = [...node.children].map((child) => resolve(child, style));
  const isOneLine = node.type === schema.nodes.heading && !attrs.underline;
  const content = Fragment.from(isOneLine ? children.map(withoutSoftBreak) : withOtherMarkers(children));
  // A code span contains text only.
  const marks = node.marks.filter((mark) => mark.type !== schema.marks.code);
  return node.type.create(attrs, content, marks.map((mark) => resolveMark(mark, style)));
}

/** Return a table whose first row is the header, with the alignment of each column, and with cells of one line. */
function regular(table: Node, style: Style): Node {
  const rows = [...table.children].map((row, index) => {
    const cells = [...row.children].map((cell, column) => {
      const { type, align } = cellForm(table, index, column);
      const inline = [...cell.children].map((child) => withoutSoftBreak(resolve(child, style)));
      return type.create({ align }, inline);
    });
    return row.type.create(row.attrs, cells);
  });
  return table.type.create(table.attrs, rows);
}

function withoutSoftBreak(node: Node): Node {
  return node.type === schema.nodes.soft_break ? schema.text(" ", node.marks) : node;
}

/** Change the marker of each list that follows a list with the same one inside of an item or a quote. They would be one list. */
function withOtherMarkers(nodes: Node[]): Node[] {
  const result: Node[] = [];
  for (const node of nodes) {
    const last = result.at(-1);
    const [name, markers] = node.type === schema.nodes.bullet_list ? ["marker", "-*"] : ["delimiter", ".)"];
    const isSame = last?.type === node.type && name in node.attrs && last.attrs[name] === node.attrs[name];
    const marker = [...markers!].find((each) => each !== node.attrs[name!]);
    result.push(isSame ? node.type.create({ ...node.attrs, [name!]: marker }, node.content) : node);
  }
  return result;
}

function resolveMark(mark: Mark, style: Style): Mark {
  if (mark.attrs.markup !== null) return mark;
  const markup = { em: style.em, strong: style.strong, strike: "~~" }[mark.type.name];
  return markup ? mark.type.create({ ...mark.attrs, markup }) : mark;
}

/** Return a node with empty lines between the items of all lists. An empty item cannot follow a text directly. */
export function loose(node: Node): Node {
  if (node.isText || node.isLeaf) return node;
  const content = Fragment.from([...node.children].map(loose));
  return node.type.create("tight" in node.attrs ? { ...node.attrs, tight: false } : node.attrs, content, node.marks);
}

/** Return a node whose indented code is in fences, which can stand at each place and begin with an empty line. */
function fenced(node: Node, style: Style): Node {
  if (node.type === schema.nodes.code_block && !node.attrs.fence) return node.type.create({ ...node.attrs, fence: style.fence }, node.content);
  return node.isTextblock || node.isLeaf ? node : node.copy(Fragment.from([...node.children].map((child) => fenced(child, style))));
}
