// ProseMirror schema of a Markdown text. A top-level node has the attribute `key`: the index of its block in the file.
// An attribute of the notation that is null has the notation of the file (style.ts). A link to an address that is elsewhere
// in the file has its `label`.
import { type Attrs, type DOMOutputSpec, type Node, type NodeType, Schema } from "prosemirror-model";
import { tableNodes } from "prosemirror-tables";
import { readCard } from "./card.ts";
import { isSafe } from "./links.ts";

const key = { key: { default: null } };
const tables = tableNodes({
  tableGroup: "",
  cellContent: "inline*",
  cellAttributes: {
    align: {
      default: null,
      getFromDOM: (cell) => /^(?:left|center|right)$/.exec(cell.dataset.align ?? "")?.[0] ?? null,
      setDOMAttr: (value, attrs) => {
        if (value) attrs["data-align"] = value;
      },
    },
  },
});

export const schema = new Schema({
  nodes: {
    doc: { content: "(block | table | card | source_block)+" },
    paragraph: { content: "inline*", group: "block", attrs: key, parseDOM: [{ tag: "p" }], toDOM: () => ["p", 0] },
    heading: {
      content: "inline*",
      group: "block",
      defining: true,
      attrs: { ...key, level: { default: 2 }, underline: { default: null } },
      parseDOM: [1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { level } })),
      toDOM: (node) => [`h${node.attrs.level}`, 0],
    },
    blockquote: {
      content: "block+",
      group: "block",
      defining: true,
      attrs: key,
      parseDOM: [{ tag: "blockquote" }],
      toDOM: () => ["blockquote", 0],
    },
    code_block: {
      content: "text*",
      marks: "",
      group: "block",
      code: true,
      defining: true,
      attrs: { ...key, info: { default: "" }, fence: { default: null } },
      parseDOM: [{ tag: "pre", preserveWhitespace: "full", getAttrs: (element) => ({ info: (element as HTMLElement).dataset.label ?? "" }) }],
      toDOM: (node) => ["pre", node.attrs.info ? { "data-info": "", "data-label": node.attrs.info } : {}, ["code", { spellcheck: "false" }, 0]],
    },
    // A source is no part of other blocks: Markdown would read it in another way there.
    source_block: {
      content: "text*",
      marks: "",
      code: true,
      defining: true,
      isolating: true,
      attrs: { ...key, label: { default: "Markdown" } },
      parseDOM: [
        {
          tag: "pre.source-block",
          preserveWhitespace: "full",
          priority: 60,
          getAttrs: (element) => ({ label: (element as HTMLElement).dataset.label ?? "Markdown" }),
        },
      ],
      toDOM: (node) => ["pre", { class: "source-block", "data-label": node.attrs.label, dir: "ltr" }, ["code", { spellcheck: "false" }, 0]],
    },
    // A component or a shortcode outside of other blocks. It is written as its source, which `readCard` reads.
    card: {
      atom: true,
      attrs: { ...key, source: { default: "" } },
      leafText: (node) => node.attrs.source,
      parseDOM: [{ tag: "div.card-block", getAttrs: (element) => cardAttributes(element as HTMLElement) }],
      toDOM: (node) => ["div", { class: "card-block", "data-source": node.attrs.source }, node.attrs.source],
    },
    bullet_list: list("ul", { marker: { default: null } }),
    ordered_list: list("ol", { order: { default: 1 }, delimiter: { default: null }, step: { default: 1 } }),
    // `task` is null, or the character between the brackets of a task: a space, "x" or "X".
    list_item: {
      content: "block+",
      defining: true,
      attrs: { task: { default: null } },
      parseDOM: [{ tag: "li", getAttrs: (element) => ({ task: (element as HTMLElement).dataset.task ?? null }) }],
      toDOM: (node) => ["li", node.attrs.task === null ? {} : { "data-task": node.attrs.task }, 0],
    },
    // Markdown has tables of one header row, with cells of one line, and outside of other blocks only.
    table: { ...tables.table, content: "table_row+", attrs: key },
    table_row: tables.table_row,
    table_cell: tables.table_cell,
    table_header: tables.table_header,
    horizontal_rule: {
      group: "block",
      attrs: { ...key, markup: { default: "---" } },
      parseDOM: [{ tag: "hr" }],
      toDOM: () => ["hr"],
    },
    text: { group: "inline" },
    image: {
      inline: true,
      group: "inline",
      draggable: true,
      attrs: { src: { default: "" }, alt: { default: "" }, title: { default: null } },
      parseDOM: [{ tag: "img[src]", getAttrs: (element) => imageAttributes(element as HTMLElement) }],
      toDOM: (node) => ["img", { src: node.attrs.src, alt: node.attrs.alt, title: node.attrs.title }],
    },
    hard_break: {
      inline: true,
      group: "inline",
      selectable: false,
      attrs: { markup: { default: null } },
      parseDOM: [{ tag: "br" }],
      toDOM: () => ["br"],
    },
    // A line end inside a paragraph. Readers see a space.
    soft_break: { inline: true, group: "inline", selectable: false, leafText: () => "\n", toDOM: () => ["span", { class: "soft-break" }, " "] },
    // HTML, a shortcode, a footnote or another construct that is written as it is.
    raw_inline: {
      inline: true,
      group: "inline",
      atom: true,
      attrs: { text: { default: "" } },
      leafText: (node) => node.attrs.text,
      parseDOM: [{ tag: "code.raw-inline", getAttrs: (element) => ({ text: (element as HTMLElement).textContent }), priority: 60 }],
      toDOM: (node) => ["code", { class: "raw-inline", dir: "ltr" }, node.attrs.text],
    },
  },
  marks: {
    link: {
      attrs: { href: {}, title: { default: null }, label: { default: null } },
      inclusive: false,
      parseDOM: [{ tag: "a[href]", getAttrs: (element) => linkAttributes(element as HTMLElement) }],
      toDOM: (mark) => ["a", { href: isSafe(mark.attrs.href) ? mark.attrs.href : "#", title: mark.attrs.title ?? mark.attrs.href }, 0],
    },
    em: { attrs: { markup: { default: null } }, parseDOM: [{ tag: "em" }, { tag: "i" }], toDOM: () => ["em", 0] },
    strong: { attrs: { markup: { default: null } }, parseDOM: [{ tag: "strong" }, { tag: "b" }], toDOM: () => ["strong", 0] },
    strike: { attrs: { markup: { default: null } }, parseDOM: [{ tag: "s" }, { tag: "del" }, { tag: "strike" }], toDOM: () => ["s", 0] },
    code: { parseDOM: [{ tag: "code" }], toDOM: () => ["code", { spellcheck: "false" }, 0] },
  },
});

/** Return the type and the alignment of a cell: those of the header row for its columns. */
export function cellForm(table: Node, row: number, column: number): { type: NodeType; align: string | null } {
  return { type: row ? schema.nodes.table_cell! : schema.nodes.table_header!, align: table.firstChild!.maybeChild(column)?.attrs.align ?? null };
}

function list(tag: "ul" | "ol", attrs: Attrs) {
  return {
    content: "list_item+",
    group: "block",
    attrs: { ...key, tight: { default: true }, gap: { default: null }, indent: { default: null }, ...attrs },
    parseDOM: [{ tag, getAttrs: (element: HTMLElement) => (tag === "ol" ? { order: Math.max(0, (element as HTMLOListElement).start) } : {}) }],
    toDOM: (node: Node): DOMOutputSpec => [tag, tag === "ol" && node.attrs.order !== 1 ? { start: node.attrs.order } : {}, 0],
  };
}

function cardAttributes({ dataset: { source = "" } }: HTMLElement): Attrs | false {
  return readCard(source) !== null && { source };
}

function imageAttributes(element: HTMLElement): Attrs | false {
  const src = element.dataset.source ?? element.getAttribute("src") ?? "";
  if (src.startsWith("data:") || src.startsWith("blob:")) return false;
  return { src, alt: element.getAttribute("alt") ?? "", title: element.getAttribute("title") };
}

function linkAttributes(element: HTMLElement): Attrs | false {
  const href = element.getAttribute("href") ?? "";
  return isSafe(href) && { href, title: null };
}
