// Pasted text: HTML of word processors, spreadsheets and web pages as formatting, and text of Markdown as Markdown.
import DOMPurify from "dompurify";
import { DOMSerializer, Fragment, type Node, type ResolvedPos, Slice } from "prosemirror-model";
import { MarkdownFile } from "./markdown/file.ts";
import { schema } from "./markdown/schema.ts";

const TAGS = [
  "p", "div", "span", "font", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "a", "img", "br", "hr",
  "b", "strong", "i", "em", "s", "del", "strike", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "input",
];
const ATTRIBUTES = [
  "href", "src", "alt", "title", "style", "class", "width", "height", "hidden", "aria-hidden", "start", "colspan", "rowspan", "align", "lang", "type", "checked",
  "data-language", "data-checked", "data-task-local-id", "data-task-state",
];
/** Characters without a width that change no letter: spaces, joins of words, marks of the byte order, and soft hyphens. */
const INVISIBLE = /[\u200b\u2060\ufeff\u00ad]/g;
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|clip\s*:\s*rect\(|font-size\s*:\s*0(?:px|pt|em)?\s*(?:;|$))/i;
const ANCHOR = /^[#¶§\s🔗]*$/u;
const LIST_PARAGRAPH = /mso-list\s*:\s*l\d+\s+level(\d+)/i;
const BULLET = /^\s*([·•‣▪◦o\u00a7\uf0b7-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,6})[.)])[\s\u00a0]+/;
/** The attribute of what this editor copies. Other editors of ProseMirror write `data-pm-slice`, too. */
const OWN = "data-galley-slice";
/** A space at the ends of the pasted HTML, which the parser would remove. */
const SPACE = "\ue000";

/** Writer of copied blocks, which marks the first one. */
class OwnSerializer extends DOMSerializer {
  override serializeFragment(...[fragment, options, target]: Parameters<DOMSerializer["serializeFragment"]>) {
    const copied = super.serializeFragment(fragment, options, target);
    if (!target && copied.firstChild instanceof HTMLElement) copied.firstChild.setAttribute(OWN, "");
    return copied;
  }
}

export const clipboardSerializer = new OwnSerializer(DOMSerializer.nodesFromSchema(schema), DOMSerializer.marksFromSchema(schema));

/** Return pasted HTML with only what a reader of the source saw, in elements that the schema reads. */
export function cleanHtml(html: string): string {
  if (html.includes(` ${OWN}=`)) return html;
  const fragment = /<!--StartFragment-->([^]*?)<!--EndFragment-->/.exec(html)?.[1] ?? html.replace(/^[^]*<body[^>]*>|<\/body>[^]*$/gi, "");
  // Excel marks the rows inside of the table.
  const whole = /^\s*<(?:col|colgroup|thead|tbody|tr|td|th)\b/i.test(fragment) ? `<table>${fragment}</table>` : fragment;
  const lists = whole.replace(/<!--\[if !supportLists\]-->([^]*?)<!--\[endif\]-->/g, '<span class="galley-marker">$1</span>');
  const body = DOMPurify.sanitize(lists, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOW_DATA_ATTR: false, ADD_FORBID_CONTENTS: ["button"], RETURN_DOM: true }) as HTMLElement;
  for (const element of body.querySelectorAll<HTMLElement>("*")) if (isInvisible(element)) element.remove();
  for (const element of [...body.querySelectorAll<HTMLElement>("*")].reverse()) replaceStyle(element);
  cleanTexts(body);
  for (const code of body.querySelectorAll("pre")) labelCode(code);
  readTasks(body);
  for (const element of body.querySelectorAll("p, div, h1, h2, h3, h4, h5, h6")) if (!element.textContent!.trim() && !element.querySelector("img, hr, table")) element.remove();
  joinWordLists(body);
  nestLists(body);
  for (const table of [...body.querySelectorAll("table")].reverse()) table.replaceWith(tableElement(table));
  keepOuterSpace(body);
  return body.innerHTML;
}

/** Return a pasted slice with the spaces that `cleanHtml` has marked. */
export function restoreSpaces(slice: Slice): Slice {
  const restore = (fragment: Fragment): Fragment =>
    Fragment.fromArray(
      [...fragment.content].map((node) => (node.isText ? schema.text(node.text!.replaceAll(SPACE, " "), node.marks) : node.copy(restore(node.content)))),
    );
  return new Slice(restore(slice.content), slice.openStart, slice.openEnd);
}

/** Read pasted text as Markdown. In code, and with Shift, it is text. */
export function parseText(text: string, $context: ResolvedPos, plain: boolean, isMdx: boolean): Slice | null {
  if (plain || $context.parent.type.spec.code) return null;
  const { doc } = new MarkdownFile(text.replace(/\r\n?/g, "\n").trim(), isMdx);
  const nodes = [...doc.children].map((node) => node.type.create({ ...node.attrs, key: null }, node.content));
  const only = nodes.length === 1 && nodes[0]!.type === schema.nodes.paragraph;
  if (only) return new Slice(Fragment.from(spaced(nodes[0]!, text)), 1, 1);
  return Slice.maxOpen(Fragment.from(nodes), false);
}

/** Return a paragraph with the spaces at the ends of a text, which Markdown does not have. */
function spaced(node: Node, text: string): Node {
  const [start, end] = [/^ +/.exec(text)?.[0], /(?<! ) +$/.exec(text)?.[0]];
  let { content } = node;
  if (start) content = Fragment.from(schema.text(start)).append(content);
  if (end) content = content.append(Fragment.from(schema.text(end)));
  return node.copy(content);
}

function isInvisible(element: HTMLElement): boolean {
  if (element.hidden || HIDDEN.test(element.getAttribute("style") ?? "")) return true;
  if (element.tagName === "IMG") return /^(?:data|blob|file|cid):/i.test(element.getAttribute("src") ?? "") || isPixel(element);
  const isInHeading = element.tagName === "A" && element.closest("h1, h2, h3, h4, h5, h6");
  const isAnchor = isInHeading && (ANCHOR.test(element.textContent ?? "") || element.getAttribute("aria-hidden") === "true") && !element.querySelector("img");
  return Boolean(isAnchor);
}

const BLOCKS = "p, div, li, ul, ol, table, blockquote, pre, h1, h2, h3, h4, h5, h6";
const HEADINGS = "h1, h2, h3, h4, h5, h6";

/** Replace bold, italic and struck text by style with elements. The policy of the page does not apply style attributes. */
function replaceStyle(element: HTMLElement): void {
  const style = (name: string) => styleOf(element, name);
  const weight = style("font-weight");
  const isBold = !/^(?:normal|[1-4]00)$/.test(weight) && !element.closest(HEADINGS);
  if ((element.matches("b, strong") && !isBold) || (element.matches("i, em") && style("font-style") === "normal")) {
    element.replaceWith(...element.childNodes);
    return;
  }
  if (element.querySelector(BLOCKS) || !element.textContent) return;
  const marks: [string, boolean][] = [
    ["strong", /^(?:bold|bolder|[6-9]00)$/.test(weight) && !element.closest(HEADINGS) && !element.matches("b, strong, th")],
    ["em", /italic|oblique/.test(style("font-style")) && !element.matches("i, em")],
    ["s", /line-through/.test(style("text-decoration") + style("text-decoration-line")) && !element.matches("s, del, strike")],
  ];
  for (const [tag, isMarked] of marks) {
    if (!isMarked) continue;
    const mark = document.createElement(tag);
    mark.append(...element.childNodes);
    element.append(mark);
  }
  if (element.matches("strike")) {
    const mark = document.createElement("s");
    mark.append(...element.childNodes);
    element.replaceWith(mark);
  }
}

function styleOf(element: HTMLElement, name: string): string {
  const value = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]*)`, "i").exec(element.getAttribute("style") ?? "");
  return (value?.[1] ?? "").trim().toLowerCase();
}

function isPixel(image: HTMLElement): boolean {
  const sizes = ["width", "height"].map((name) => Number.parseFloat(image.getAttribute(name) ?? styleOf(image, name)));
  return sizes.every((size) => size <= 1);
}

function cleanTexts(body: HTMLElement): void {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    const text = node.data.replace(INVISIBLE, "");
    if (text !== node.data) node.data = text;
  }
}

/** Mark a code block with its language, and remove the line end at its end. */
function labelCode(code: HTMLElement): void {
  const classes = [code, code.firstElementChild, code.parentElement].map((element) => element?.className).join(" ");
  const language = code.dataset.language || code.lang || /(?:^|\s)(?:language|lang|highlight-source)-(\S+)/.exec(classes)?.[1];
  if (language && /^[\w+#-]+$/.test(language) && language !== "plaintext") code.dataset.label = language;
  for (const end of code.querySelectorAll("br")) end.replaceWith("\n");
  code.textContent = code.textContent!.replace(/\n$/, "");
}

/** Mark the items of task lists: those with a checkbox, and those of Confluence, which are no list. */
function readTasks(body: HTMLElement): void {
  for (const task of body.querySelectorAll<HTMLElement>("[data-task-local-id]")) {
    const item = document.createElement("li");
    item.dataset.checked = String(task.dataset.taskState === "DONE" || task.querySelector("input[checked]") !== null);
    item.append(...task.childNodes);
    const before = task.previousElementSibling;
    const list = before?.matches(".galley-tasks") ? before : document.createElement("ul");
    list.className = "galley-tasks";
    task.replaceWith(...(list === before ? [] : [list]));
    list.append(item);
  }
  for (const box of body.querySelectorAll("input")) {
    const item = box.type === "checkbox" ? box.closest("li") : null;
    if (item) item.dataset.checked ??= String(box.hasAttribute("checked"));
    box.remove();
  }
  for (const item of body.querySelectorAll<HTMLElement>("li[data-checked]")) item.dataset.task = item.dataset.checked === "true" ? "x" : " ";
}

/** Replace the paragraphs of lists of Word, and paragraphs that start with a bullet beside such ones, by lists. */
function joinWordLists(body: HTMLElement): void {
  for (const heading of body.querySelectorAll<HTMLElement>(HEADINGS)) if (LIST_PARAGRAPH.test(heading.getAttribute("style") ?? "")) removeMarker(heading);
  const paragraphs = [...body.querySelectorAll<HTMLElement>("p")].filter((each) => LIST_PARAGRAPH.test(each.getAttribute("style") ?? "") || isBullet(each));
  let open: { list: HTMLElement; level: number }[] = [];
  let last: Element | null = null;
  for (const paragraph of paragraphs) {
    if (paragraph.previousElementSibling !== last || !last) open = [];
    const level = Number(LIST_PARAGRAPH.exec(paragraph.getAttribute("style") ?? "")?.[1] ?? 1);
    const marker = removeMarker(paragraph);
    const tag = /\d|^[a-zA-Z]{1,6}[.)]/.test(marker) ? "ol" : "ul";
    const number = /(\d+)\D*$/.exec(marker)?.[1];
    while (open.length && open.at(-1)!.level > level) open.pop();
    const same = open.at(-1);
    const next = same && Number(same.list.getAttribute("start")) + same.list.childElementCount;
    if (same?.level === level && (!same.list.matches(tag) || (number && Number(number) !== next))) open.pop();
    if (!open.length || open.at(-1)!.level < level) {
      const list = document.createElement(tag);
      list.setAttribute("start", number ?? "1");
      const item = open.at(-1)?.list.lastElementChild;
      if (item) item.append(list);
      else paragraph.before(list);
      open.push({ list, level });
    }
    const item = document.createElement("li");
    item.append(...paragraph.childNodes);
    open.at(-1)!.list.append(item);
    last = open[0]!.list;
    paragraph.remove();
  }
}

function isBullet(paragraph: HTMLElement): boolean {
  return /^[·•‣▪◦\uf0b7][\s\u00a0]/.test((paragraph.textContent ?? "").trimStart());
}

/** Remove the marker of an item of Word and return it. */
function removeMarker(paragraph: HTMLElement): string {
  const marked = paragraph.querySelector(".galley-marker") ?? [...paragraph.querySelectorAll("span")].find((each) => /mso-list\s*:\s*ignore/i.test(each.getAttribute("style") ?? ""));
  if (marked) {
    marked.remove();
    return (marked.textContent ?? "").trim();
  }
  const found = BULLET.exec(paragraph.textContent ?? "");
  let length = found?.[0].length ?? 0;
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  while (length > 0 && walker.nextNode()) {
    const node = walker.currentNode as Text;
    const cut = Math.min(length, node.data.length);
    node.data = node.data.slice(cut);
    length -= cut;
  }
  return found?.[1] ?? "";
}

/** Move a list that is a child of a list into the item before it (Google Docs, LibreOffice). Without one, its level has no item. */
function nestLists(body: HTMLElement): void {
  for (const list of body.querySelectorAll("ul > ul, ul > ol, ol > ul, ol > ol")) {
    const before = list.previousElementSibling;
    if (before?.tagName === "LI") before.append(list);
    else list.replaceWith(...list.childNodes);
  }
}

/** Return a table with a header row, and cells of one line. A table of one cell, or inside of another, is its content. */
function tableElement(table: HTMLTableElement): HTMLElement {
  const rows: (HTMLTableCellElement | null)[][] = [...table.rows].map(() => []);
  for (const [index, row] of [...table.rows].entries()) {
    for (const cell of row.cells) {
      let column = 0;
      while (rows[index]![column] !== undefined) column++;
      for (let line = index; line < Math.min(rows.length, index + (cell.rowSpan || rows.length)); line++) {
        for (let at = column; at < column + cell.colSpan; at++) rows[line]![at] = line === index && at === column ? cell : null;
      }
    }
  }
  if (rows.flat().length <= 1 || table.parentElement!.closest("td, th, li, blockquote")) {
    const content = document.createElement("div");
    for (const cell of rows.flat()) {
      const line = document.createElement("p");
      line.append(...(cell?.childNodes ?? []));
      if (line.hasChildNodes()) content.append(line);
    }
    return content;
  }
  const width = Math.max(...rows.map((row) => row.length));
  const result = document.createElement("table");
  for (const [index, row] of rows.entries()) {
    const line = result.insertRow();
    for (let column = 0; column < width; column++) {
      const cell = line.appendChild(document.createElement(index ? "td" : "th"));
      const source = row[column];
      if (!source) continue;
      cell.dataset.align = styleOf(source, "text-align") || source.align;
      cell.append(...lineOf(source));
    }
  }
  return result;
}

const INLINE = "a, b, strong, i, em, s, del, code, img, br";

/** Return the content of a cell as one line: its text, links, images and marks, with breaks between its blocks. */
function lineOf(cell: HTMLElement): ChildNode[] {
  for (const block of cell.querySelectorAll(BLOCKS)) {
    if (!block.textContent) continue;
    block.before(document.createElement("br"));
    block.after(document.createElement("br"));
  }
  for (const element of [...cell.querySelectorAll("*")].reverse()) if (!element.matches(INLINE)) element.replaceWith(...element.childNodes);
  const isEmpty = (node: ChildNode | null) => node instanceof HTMLBRElement || (node instanceof Text && !node.data.trim());
  for (const node of [...cell.childNodes]) if (isEmpty(node) && (!node.previousSibling || node.previousSibling instanceof HTMLBRElement)) node.remove();
  while (cell.lastChild && isEmpty(cell.lastChild)) cell.lastChild.remove();
  return [...cell.childNodes];
}

function keepOuterSpace(body: HTMLElement): void {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  const [first, last] = [texts[0], texts.at(-1)];
  const isInline = (node: Text) => !node.parentElement!.closest("p, li, h1, h2, h3, h4, h5, h6, pre, td, div");
  if (last && isInline(last)) last.data = last.data.replace(/(?<!\s)[ \t\n]+$/, SPACE);
  if (first && isInline(first)) first.data = first.data.replace(/^[ \t\n]+/, SPACE);
}
