// A plugin of the formatted editor that shows one top-level block of the text and changes nothing outside of it.
// It receives the classes of the editor, whose scripts are loaded with the editor only.
import type { Node } from "prosemirror-model";
import type { EditorState, Plugin, Selection, TextSelection, Transaction } from "prosemirror-state";
import type { Decoration, DecorationSet } from "prosemirror-view";
import { plain } from "./page-channel.ts";

/** The positions before and after the blocks that are shown. A block can become several. */
interface Range {
  from: number;
  to: number;
}

/** The classes of the editor. */
export interface EditorClasses {
  Plugin: typeof Plugin;
  Selection: typeof Selection;
  TextSelection: typeof TextSelection;
  Decoration: typeof Decoration;
  DecorationSet: typeof DecorationSet;
}

/** Return the plugin for the block with an index, and the selection at the end of its line with a text. */
export function onlyBlock(classes: EditorClasses, index: number, line = ""): { plugin: Plugin; end: (state: EditorState) => Selection } {
  const plugin: Plugin<Range> = new classes.Plugin<Range>({
    state: {
      init: (_config, { doc }) => rangeOf(doc, index),
      apply: ({ mapping }, { from, to }) => ({ from: mapping.map(from, -1), to: mapping.map(to, 1) }),
    },
    filterTransaction: (transaction, state) => isInside(transaction, plugin.getState(state)!),
    appendTransaction: (_transactions, _before, state) => keepSelection(classes, state, plugin.getState(state)!),
    props: { decorations: (state) => hideOthers(classes, state.doc, plugin.getState(state)!) },
  });
  return { plugin, end: (state) => classes.Selection.near(state.doc.resolve(endOf(state.doc, plugin.getState(state)!, line)), -1) };
}

/** Return the end of the first line with a text, else of the block. */
function endOf(doc: Node, { from, to }: Range, text: string): number {
  const wanted = plain(text);
  let end = to;
  doc.nodesBetween(from, to, (node, at) => {
    if (end === to && node.isTextblock && wanted && plain(node.textContent) === wanted) end = at + node.nodeSize - 1;
  });
  return end;
}

function rangeOf(doc: Node, index: number): Range {
  if (index >= doc.childCount) return { from: doc.content.size, to: doc.content.size };
  let from = 0;
  for (let number = 0; number < index; number++) from += doc.child(number).nodeSize;
  return { from, to: from + doc.child(index).nodeSize };
}

/** Return whether a transaction changes the shown blocks only. */
function isInside(transaction: Transaction, range: Range): boolean {
  let { from, to } = range;
  for (const map of transaction.mapping.maps) {
    let isWithin = true;
    map.forEach((start, end) => (isWithin &&= start >= from && end <= to));
    if (!isWithin) return false;
    [from, to] = [map.map(from, -1), map.map(to, 1)];
  }
  return true;
}

function keepSelection({ Selection, TextSelection }: EditorClasses, state: EditorState, { from, to }: Range): Transaction | null {
  const { selection, doc, tr } = state;
  const isWithin = (one: Selection) => one.from >= from && one.to <= to;
  if (isWithin(selection)) return null;
  const start = Math.min(Math.max(selection.from, from), to);
  const end = Math.min(Math.max(selection.to, from), to);
  const next = start === end ? Selection.near(doc.resolve(start), start === from ? 1 : -1) : TextSelection.between(doc.resolve(start), doc.resolve(end));
  return isWithin(next) ? tr.setSelection(next) : null;
}

function hideOthers({ Decoration, DecorationSet }: EditorClasses, doc: Node, { from, to }: Range): DecorationSet {
  const hidden: Decoration[] = [];
  doc.forEach((node, offset) => {
    const end = offset + node.nodeSize;
    if (end <= from || offset >= to) hidden.push(Decoration.node(offset, end, { class: "is-outside" }));
  });
  return DecorationSet.create(doc, hidden);
}
