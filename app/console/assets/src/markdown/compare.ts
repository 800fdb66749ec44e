// What readers see of a document: nodes in a form in which two of them are equal if Markdown and its readers see no difference.
import { Fragment, Mark, type Node } from "prosemirror-model";
import { schema } from "./schema.ts";

export function isOneLine(node: Node): boolean {
  return node.type === schema.nodes.heading || isCell(node);
}

export function isBreak(node?: Node): boolean {
  return node?.type === schema.nodes.soft_break || node?.type === schema.nodes.hard_break;
}

export function isCell(node: Node): boolean {
  return node.type === schema.nodes.table_cell || node.type === schema.nodes.table_header;
}

/** Return what readers see of a node: without the index of its block, the layout of lists, the marks' notation, and outer spaces. */
export function comparable(node: Node): Node {
  const attrs: Record<string, unknown> = { ...node.attrs };
  for (const name of ["key", "gap", "indent"]) if (name in attrs) attrs[name] = null;
  if (node.type === schema.nodes.hard_break) attrs.markup = null;
  if ("tight" in attrs && !canBeLoose(node)) attrs.tight = true;
  if ("step" in attrs && node.childCount === 1) attrs.step = 1;
  if (node.isText) return node.mark(node.marks.map(withoutMarkup));
  const children = [...node.children].map(comparable);
  const content = node.inlineContent && !node.type.spec.code ? withoutLineSpace(joined(withoutOuterMarks(children, true))) : children;
  const created = node.type.create(attrs, Fragment.fromArray(content), node.marks.map(withoutMarkup));
  return node.inlineContent && !node.type.spec.code ? withoutOuterSpace(created) : created;
}

/** Return whether a list can have an empty line between two of its blocks that readers see. */
function canBeLoose(list: Node): boolean {
  const blocks = [...list.firstChild!.children];
  return list.childCount > 1 || (blocks.length > 1 && blocks.some((block) => block.type === schema.nodes.paragraph));
}

function withoutMarkup(mark: Mark): Mark {
  const attrs: Record<string, unknown> = { ...mark.attrs };
  for (const name of ["markup", "label"]) if (name in attrs) attrs[name] = null;
  return mark.type.create(attrs);
}

/** Remove the marks of white space at their ends, where Markdown has none. Readers see those inside of links and of code only. */
function withoutOuterMarks(nodes: Node[], isRead: boolean): Node[] {
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
    const isVisible = (mark: Mark) => !isRead || mark.type.name === "link" || (node.isText && mark.type.name === "code" && Mark.sameSet(before!.marks, after!.marks));
    return node.mark(node.marks.filter((mark) => before && after && mark.isInSet(before.marks) && mark.isInSet(after.marks) && isVisible(mark)));
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
  if (node.isTextblock) return withoutOuterSpace(node.copy(Fragment.from(withoutEmptyLines(withoutOuterMarks([...node.children], false)))));
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
    const isHtml = [node, result[last]].some((each) => each?.attrs.markup?.startsWith("<"));
    if (isBreak(node) && isBreak(result[last]) && !isHtml && (node.type === soft_break || result[last]!.type === soft_break)) {
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
