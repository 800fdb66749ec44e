// ProseMirror nodes to Markdown in the notation of the file. A text that needs no backslashes gets none. What was written is
// parsed again and compared; the next, safer form is used if it differs.
import { MarkdownSerializer, type MarkdownSerializerState, defaultMarkdownSerializer } from "prosemirror-markdown";
import { Fragment, type Mark, type Node } from "prosemirror-model";
import { linkTarget } from "./links.ts";
import { merge } from "./merge.ts";
import { EXTENSION_START, type References, isMdxCode, parseNodes } from "./parse.ts";
import { cellForm, schema } from "./schema.ts";
import type { Style } from "./style.ts";

type MarkText = (state: MarkdownSerializerState, mark: Mark, parent: Node, index: number) => string;

const { link, code } = defaultMarkdownSerializer.marks as Record<string, { open: MarkText; close: MarkText; mixable: boolean; escape?: boolean }>;

/** What the writer must know of a file. */
export interface Context {
  references: References;
  style: Style;
  isMdx: boolean;
}

/** A form of a text. `plain` needs no backslash, `strict` escapes all that any dialect reads as markup and marks with asterisks, `html` writes marks as HTML. */
type Form = "plain" | "escaped" | "strict" | "html";
const FORMS: Form[] = ["plain", "escaped", "strict", "html"];
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
          const text = link!.open(state, linkMark, parent, index);
          isAutolink = text === "<";
          return text;
        },
        close(state, linkMark, parent, index) {
          isAutolink = false;
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

/** Escape HTML, entities, and the expressions of MDX, Hugo, Liquid and Jinja. Templates do not know backslashes, so they get entities. */
function escapeMarkup(text: string, isMdx: boolean): string {
  const markup = text.replace(/<|&(?=#?\w+;)/g, "\\$&").replace(/\{(?=[{%:#.]|$)/g, "&#123;");
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

function isOneLine(node: Node): boolean {
  return node.type === schema.nodes.heading || isCell(node);
}

function isBreak(node?: Node): boolean {
  return node?.type === schema.nodes.soft_break || node?.type === schema.nodes.hard_break;
}

function isCell(node: Node): boolean {
  return node.type === schema.nodes.table_cell || node.type === schema.nodes.table_header;
}

/** What an edited table keeps of its source: also the spaces in edited rows, only the rows that were not edited, or nothing. */
type Kept = "spaces" | "rows" | "nothing";
const KEPT: Kept[] = ["spaces", "rows", "nothing"];
const DELIMITERS: Record<string, string> = { left: ":---", center: ":---:", right: "---:" };

class BlockWriter {
  private readonly form: Form;
  private readonly context: Context;
  private readonly kept: Kept;

  constructor(form: Form, context: Context, kept: Kept) {
    this.form = form;
    this.context = context;
    this.kept = kept;
  }

  write(node: Node): string {
    const { attrs } = node;
    switch (node.type) {
      case schema.nodes.heading: {
        if (attrs.underline) return `${this.paragraph(node)}\n${attrs.underline.repeat(3)}`;
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
        return this.paragraph(node);
    }
  }

  /** The start of a paragraph may be markup of an extension or, in MDX, of JavaScript. */
  private paragraph(node: Node): string {
    const text = this.inline(node);
    if (this.form === "plain" || this.form === "escaped") return text;
    if (EXTENSION_START.test(text)) return text.replace(/^ *(?=\S)/, "$&\\");
    return this.context.isMdx ? text.replace(/^[ei](?=(?:mport|xport)\s)/, entity) : text;
  }

  private inline(node: Node): string {
    return inlineText(node, this.form, this.context.isMdx);
  }

  /** A line of the table that was not edited is written as it was read. */
  private table(table: Node): string {
    const rows = [...table.children];
    const delimiters = delimitersOf(rows[0]!);
    if (this.kept === "nothing") return [this.row(rows[0]!), delimiters, ...rows.slice(1).map((row) => this.row(row))].join("\n");
    const delimiter: string = table.attrs.source ?? delimiters;
    const sources = rows.map((row): string | null => row.attrs.source);
    const plain = delimiter.replace(/:?-+:?/g, "x");
    const read = parseNodes([plain, delimiter, ...sources.map((source) => source ?? plain)].join("\n"), this.context.references)?.[0];
    const originals = read?.type === schema.nodes.table && read.childCount === rows.length + 1 ? [...read.children] : null;
    const lines = rows.map((row, index) => {
      const [source, original] = [sources[index], originals?.[index + 1]];
      if (!source || !original) return this.row(row);
      const isSame = sameCells(original, row, (cell) => comparable(cell).content.toJSON());
      return isSame ? source : this.merged(this.row(original), source, this.row(row));
    });
    const line = !originals || sameCells(originals[0]!, rows[0]!, (cell) => cell.attrs.align) ? delimiter : this.merged(delimitersOf(originals[0]!), delimiter, delimiters);
    return [lines[0], line, ...lines.slice(1)].join("\n");
  }

  private merged(base: string, source: string, mine: string): string {
    return this.kept === "spaces" ? merge(base, source, mine, "word") : mine;
  }

  private row(row: Node): string {
    return rowText([...row.children].map((cell) => this.inline(cell).trim().replaceAll("|", "\\|")));
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

function delimitersOf(header: Node): string {
  return rowText([...header.children].map((cell) => DELIMITERS[cell.attrs.align] ?? "---"));
}

/** Return whether two rows have as many cells, and each the same value. */
function sameCells(a: Node, b: Node, value: (cell: Node) => unknown): boolean {
  const [first, second] = [a, b].map((row) => JSON.stringify([...row.children].map(value)));
  return first === second;
}

function indented(text: string, margin: string): string {
  return text.replace(/^(?=[^\n])/gm, margin);
}

/** Return whether a list with this white space before its markers is inside of an item whose text starts at column `width`. */
function fits(indent: string, width: number): boolean {
  const columns = [...indent].reduce((column, character) => (character === "\t" ? column + 4 - (column % 4) : column + 1), 0);
  return columns >= width && columns < width + 4;
}

function codeBlock(node: Node): string {
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
    for (const form of FORMS) {
      for (const kept of node.type === schema.nodes.table ? KEPT : [KEPT[0]!]) {
        const text = new BlockWriter(form, context, kept).write(each).replace(/\n+$/, "");
        if (isSource(text, each, context)) return text;
      }
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
function loose(node: Node): Node {
  if (node.isText || node.isLeaf) return node;
  const content = Fragment.from([...node.children].map(loose));
  return node.type.create("tight" in node.attrs ? { ...node.attrs, tight: false } : node.attrs, content, node.marks);
}

/** Return a node whose indented code is in fences, which can stand at each place and begin with an empty line. */
function fenced(node: Node, style: Style): Node {
  if (node.type === schema.nodes.code_block && !node.attrs.fence) return node.type.create({ ...node.attrs, fence: style.fence }, node.content);
  return node.isTextblock || node.isLeaf ? node : node.copy(Fragment.from([...node.children].map((child) => fenced(child, style))));
}

/** Return what readers see of a node: without the index of its block, the layout of lists, the marks' notation, and outer spaces. */
export function comparable(node: Node): Node {
  const attrs: Record<string, unknown> = { ...node.attrs };
  for (const name of ["key", "gap", "indent", "source"]) if (name in attrs) attrs[name] = null;
  if (node.type === schema.nodes.hard_break) attrs.markup = null;
  if ("tight" in attrs && !canBeLoose(node)) attrs.tight = true;
  if ("step" in attrs && node.childCount === 1) attrs.step = 1;
  if (node.isText) return node.mark(node.marks.map(withoutMarkup));
  const children = [...node.children].map(comparable);
  const content = node.inlineContent && !node.type.spec.code ? withoutLineSpace(joined(withoutOuterMarks(children))) : children;
  const created = node.type.create(attrs, Fragment.fromArray(content), node.marks.map(withoutMarkup));
  return node.inlineContent && !node.type.spec.code ? withoutOuterSpace(created) : created;
}

/** Return whether a list can have an empty line between two of its blocks that readers see. */
function canBeLoose(list: Node): boolean {
  const blocks = [...list.firstChild!.children];
  return list.childCount > 1 || (blocks.length > 1 && blocks.some((block) => block.type === schema.nodes.paragraph));
}

function withoutMarkup(mark: Mark): Mark {
  return "markup" in mark.attrs ? mark.type.create({ ...mark.attrs, markup: null }) : mark;
}

/** Remove the marks of white space except inside of a link and of code. Markdown cannot mark it at the ends, and readers do not see it. */
function withoutOuterMarks(nodes: Node[]): Node[] {
  const pieces = nodes.flatMap((node) => (node.isText ? node.text!.split(/(\s+)/).filter(Boolean).map((text) => schema.text(text, node.marks)) : [node]));
  const isSpace = (node: Node) => (node.isText ? !node.text!.trim() : node.type === schema.nodes.hard_break || node.type === schema.nodes.soft_break);
  const neighbour = (index: number, step: number) => {
    let at = index + step;
    while (pieces[at] && isSpace(pieces[at]!)) at += step;
    return pieces[at];
  };
  return pieces.map((node, index) => {
    if (!isSpace(node)) return node;
    const [before, after] = [neighbour(index, -1), neighbour(index, 1)];
    const isVisible = (mark: Mark) => mark.type.name === "link" || (node.isText && mark.type.name === "code");
    return node.mark(node.marks.filter((mark) => isVisible(mark) && before && after && mark.isInSet(before.marks) && mark.isInSet(after.marks)));
  });
}

/** Remove the spaces before and after breaks, which readers do not see. */
function withoutLineSpace(nodes: Node[]): Node[] {
  return nodes.flatMap((node, index) => {
    if (!node.isText) return [node];
    let text = node.text!;
    if (isBreak(nodes[index - 1])) text = text.trimStart();
    if (isBreak(nodes[index + 1])) text = text.trimEnd();
    return text ? [schema.text(text, node.marks)] : [];
  });
}

/** Join neighbouring texts with the same marks. */
function joined(nodes: Node[]): Node[] {
  const result: Node[] = [];
  for (const node of nodes) {
    const last = result.at(-1);
    if (last?.isText && node.isText && last.sameMarkup(node)) result[result.length - 1] = schema.text(last.text! + node.text!, node.marks);
    else result.push(node);
  }
  return result;
}

/** Return a node without what Markdown does not have: outer spaces and empty lines of a text, empty paragraphs beside other blocks, and tasks without text. */
export function normalized(node: Node): Node {
  if (node.isLeaf || node.type.spec.code) return node;
  if (node.isTextblock) return withoutOuterSpace(node.copy(Fragment.from(withoutEmptyLines([...node.children]))));
  const children = [...node.children].map(normalized);
  const isTask = typeof node.attrs.task === "string" && children[0]!.type === schema.nodes.paragraph;
  const filled = children.filter((child, index) => child.type !== schema.nodes.paragraph || child.childCount || (isTask && !index));
  return node.type.create("task" in node.attrs && !isTask ? { task: null } : node.attrs, filled.length ? filled : children.slice(0, 1));
}

/** Remove line ends that follow or precede another break, and the spaces between them. An empty line would end the text. */
function withoutEmptyLines(nodes: Node[]): Node[] {
  const { soft_break } = schema.nodes;
  const result: Node[] = [];
  for (const node of nodes) {
    let last = result.length - 1;
    while (isBreak(node) && result[last]?.isText && !/[^ \t\n]/.test(result[last]!.text!)) last--;
    if (isBreak(node) && isBreak(result[last]) && (node.type === soft_break || result[last]!.type === soft_break)) {
      const kept = node.type === soft_break ? result[last]! : node;
      result.splice(last, result.length, kept);
    } else result.push(node);
  }
  return result;
}

/** Return a paragraph, heading or cell without spaces and line ends at its ends, which Markdown does not have. Paragraphs keep ideographic and no-break spaces. */
export function withoutOuterSpace(node: Node): Node {
  if (!node.inlineContent || node.type.spec.code) return node;
  const children = [...node.children];
  const sizes = (nodes: Node[], space: RegExp, breaks: unknown[]) => {
    let size = 0;
    for (const child of nodes) {
      const length = child.isText ? space.exec(child.text!)![0].length : Number(breaks.includes(child.type));
      size += length;
      if (length < child.nodeSize) break;
    }
    return size;
  };
  const { soft_break, hard_break } = schema.nodes;
  // Readers of Markdown trim every white space of headings and cells.
  const [before, after] = isOneLine(node) ? [/^\s*/, /(?<!\s)\s*$/] : [/^[ \t\n]*/, /(?<![ \t\n])[ \t\n]*$/];
  const start = sizes(children, before!, [soft_break]);
  const end = node.content.size - sizes(children.reverse(), after!, [soft_break, hard_break]);
  if (start >= end) return node.copy(Fragment.empty);
  return start || end < node.content.size ? node.cut(start, end) : node;
}
