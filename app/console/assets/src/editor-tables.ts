// Tables and tasks in the formatted editor: commands, the bar of a table, and the checkbox of a task.
import { Fragment, type Node, type NodeType, Slice } from "prosemirror-model";
import { splitListItem, wrapInList } from "prosemirror-schema-list";
import { type Command, type EditorState, Plugin, Selection, TextSelection, type Transaction } from "prosemirror-state";
import { addColumnAfter, addColumnBefore, addRowAfter, addRowBefore, deleteColumn, deleteRow, deleteTable, goToNextCell, isInTable } from "prosemirror-tables";
import type { EditorView, NodeView } from "prosemirror-view";
import { create } from "./dom.ts";
import { parseNodes } from "./markdown/parse.ts";
import { cellForm, schema } from "./markdown/schema.ts";
import { text } from "./texts.ts";

const { card, hard_break, list_item, paragraph, table, table_cell, table_header, table_row } = schema.nodes as Record<string, NodeType>;
const NEW_ROWS = 3;
const NEW_COLUMNS = 2;

/** Insert a table after the top-level block of the cursor, or instead of it if it is empty. */
export const insertTable: Command = (state, dispatch) => {
  if (isInTable(state)) return false;
  const rows = Array.from({ length: NEW_ROWS }, (_, row) =>
    table_row!.create(null, Array.from({ length: NEW_COLUMNS }, () => (row ? table_cell! : table_header!).create())),
  );
  dispatch?.(withBlock(state, table!.create(null, rows), isEmptyParagraph(state)).scrollIntoView());
  return true;
};

/** Insert a block after the top-level block of the cursor, or instead of it, and move the cursor into or below the new one. */
export function withBlock(state: EditorState, block: Node, isInstead: boolean): Transaction {
  const { $from, $to } = state.selection;
  const end = $to.depth ? $to.after(1) : $to.pos;
  const start = isInstead ? $from.before(1) : end;
  // The cursor can leave a table or a rule only to a block after it.
  const rest = end === state.doc.content.size ? [paragraph!.create()] : [];
  const transaction = state.tr.replaceWith(start, end, [block, ...rest]);
  return transaction.setSelection(Selection.near(transaction.doc.resolve(start + 1)));
}

/** Return whether the cursor is in an empty paragraph outside of other blocks. */
export function isEmptyParagraph({ selection: { $from } }: EditorState): boolean {
  return $from.depth === 1 && $from.parent.type === paragraph && !$from.parent.childCount;
}

/** Move to the next cell. After the last one, add a row. */
export const nextCell: Command = (state, dispatch, view) => {
  if (!isInTable(state)) return false;
  if (goToNextCell(1)(state, dispatch)) return true;
  return !dispatch || (addRowAfter(state, dispatch) && goToNextCell(1)(view!.state, dispatch));
};

/** Move to the cell below. Below the last one, add a row. */
export const cellBelow: Command = (state, dispatch, view) => {
  if (!isInTable(state)) return false;
  if (!dispatch) return true;
  const { $head } = state.selection;
  const [start, index, column] = [$head.start(1), $head.index(1), $head.index(2)];
  if (index + 1 === $head.node(1).childCount) addRowAfter(state, dispatch);
  const { state: now } = view!;
  const rows = [...now.doc.resolve(start).parent.children];
  const cells = [...rows[index + 1]!.children].slice(0, column);
  const position = [...rows.slice(0, index + 1), ...cells].reduce((at, node) => at + node.nodeSize, start + 1);
  dispatch(now.tr.setSelection(TextSelection.near(now.doc.resolve(position + 1))).scrollIntoView());
  return true;
};

/** Keep the first row of each table the header, and the alignment of each column in all its cells. */
export const regularTables = new Plugin({
  appendTransaction(transactions, before, state) {
    if (!transactions.some((each) => each.docChanged)) return null;
    const known = new Set(before.doc.children);
    const { tr } = state;
    state.doc.forEach((node, start) => {
      if (node.type !== table || known.has(node)) return;
      node.forEach((row, rowStart, index) =>
        row.forEach((cell, cellStart, column) => {
          const { type, align } = cellForm(node, index, column);
          if (cell.type !== type || cell.attrs.align !== align) tr.setNodeMarkup(start + rowStart + cellStart + 2, type, { ...cell.attrs, align });
        }),
      );
    });
    return tr.docChanged ? tr : null;
  },
});

/** Return a pasted slice for a cell: one line, with breaks between its blocks. Tables and parts of them stay. */
export function oneLine(slice: Slice, state: EditorState): Slice {
  let hasTable = false;
  const lines: (readonly Node[])[] = [];
  slice.content.descendants((node) => {
    hasTable ||= node.type.spec.tableRole !== undefined;
    if (node.isTextblock) lines.push([...node.children].filter((child) => child.isInline));
    if (node.type === card) lines.push(cardInLine(node.attrs.source));
    return !node.isTextblock;
  });
  if (hasTable || !lines.length || !isInTable(state)) return slice;
  return new Slice(Fragment.fromArray(lines.flatMap((line, index) => (index ? [hard_break!.create(), ...line] : line))), 0, 0);
}

/** Return a component or a shortcode as a part of a text. */
function cardInLine(source: string): readonly Node[] {
  const line = source.trim().replace(/\s*[\r\n]\s*/g, " ");
  return parseNodes(line, {})?.[0]?.children ?? [schema.text(line)];
}

/** Return the bar with the commands of a table, and the function that shows it while the cursor is in one. */
export function tableBar(run: (command: Command) => void): { bar: HTMLElement; update: (state: EditorState) => void } {
  const buttons: [string, Command][] = [
    [text("Row above"), rowAbove],
    [text("Row below"), addRowAfter],
    [text("Column before"), addColumnBefore],
    [text("Column after"), addColumnAfter],
    [text("Delete row"), deleteRow],
    [text("Delete column"), deleteColumn],
    [text("Delete table"), deleteTable],
  ];
  const bar = create("div", { class: "format-bar format-bar--table", role: "toolbar", "aria-label": text("Table"), hidden: true });
  const updates: ((state: EditorState) => void)[] = [];
  for (const [label, command] of buttons) {
    const button = create("button", { type: "button", class: "format-bar__button format-bar__button--text", click: () => run(command) }, label);
    button.addEventListener("mousedown", (event) => event.preventDefault());
    updates.push((state) => (button.disabled = !command(state)));
    bar.append(button);
  }
  const aligns: [string, string | null][] = [[text("Default alignment"), null], [text("Left"), "left"], [text("Centre"), "center"], [text("Right"), "right"]];
  const select = create("select", { "aria-label": text("Alignment of the column") }, ...aligns.map(([label, value]) => create("option", { value: value ?? "" }, label)));
  select.addEventListener("change", () => run(alignColumn(select.value || null)));
  bar.append(select);
  const update = (state: EditorState) => {
    bar.hidden = !isInTable(state);
    if (bar.hidden) return;
    for (const each of updates) each(state);
    select.value = state.selection.$head.node(3)?.attrs.align ?? "";
  };
  return { bar, update };
}

/** Add a row above that of the cursor. Markdown has no row above the header, which has the alignment of the columns. */
const rowAbove: Command = (state, dispatch) => isInTable(state) && state.selection.$head.index(1) > 0 && addRowBefore(state, dispatch);

/** Align the column of the cursor. The cells below follow the header. */
function alignColumn(align: string | null): Command {
  return (state, dispatch) => {
    const { $head } = state.selection;
    const column = [...$head.node(1).firstChild!.children].slice(0, $head.index(2));
    const position = column.reduce((at, cell) => at + cell.nodeSize, $head.start(1) + 1);
    dispatch?.(state.tr.setNodeAttribute(position, "align", align));
    return true;
  };
}

/** Split an item. The item after a task is an open task. */
export const splitItem: Command = (state, dispatch) => {
  const { $from } = state.selection;
  const task = $from.depth > 1 ? $from.node(-1).attrs.task : null;
  return splitListItem(list_item!, task === null || task === undefined ? undefined : { task: " " })(state, dispatch);
};

/** Make the selected items tasks, or items without a checkbox. Outside of a list, make a list of tasks. */
export const toggleTask: Command = (state, dispatch, view) => {
  const found = itemsOf(state);
  if (!found.length) {
    if (!wrapInList(schema.nodes.bullet_list!)(state, dispatch)) return false;
    return !dispatch || toggleTask(view!.state, dispatch);
  }
  const task = found.every(({ node }) => node.attrs.task !== null) ? null : " ";
  const { tr } = state;
  for (const { node, position } of found) if ((node.attrs.task === null) !== (task === null)) tr.setNodeAttribute(position, "task", task);
  dispatch?.(tr);
  return true;
};

/** Return the items that contain the selected texts directly. */
function itemsOf(state: EditorState): { node: Node; position: number }[] {
  const found: { node: Node; position: number }[] = [];
  const { from, to } = state.selection;
  state.doc.nodesBetween(from, to, (node, position, parent) => {
    if (node.type === paragraph && parent && parent.type === list_item && parent.firstChild === node) found.push({ node: parent, position: position - 1 });
    return !node.isTextblock;
  });
  return found;
}

/** Show the item of a task with a checkbox. */
export function itemView(node: Node, view: EditorView, position: () => number | undefined): NodeView {
  if (node.attrs.task === null) {
    const item = create("li");
    return { dom: item, contentDOM: item, update: (other) => other.type === list_item && other.attrs.task === null };
  }
  const box = create("input", { type: "checkbox", "aria-label": text("Done") });
  box.checked = node.attrs.task !== " ";
  box.addEventListener("change", () => {
    const at = position();
    if (at !== undefined) view.dispatch(view.state.tr.setNodeAttribute(at, "task", box.checked ? "x" : " "));
  });
  const content = create("div");
  const dom = create("li", { class: "task" }, create("span", { contenteditable: "false" }, box), content);
  return {
    dom,
    contentDOM: content,
    stopEvent: (event) => event.target === box,
    ignoreMutation: (mutation) => !content.contains(mutation.target),
    update(other) {
      if (other.type !== list_item || other.attrs.task === null) return false;
      box.checked = other.attrs.task !== " ";
      return true;
    },
  };
}
