// A plugin of the formatted editor: text that replaces a part of a link belongs to the link. A link does not continue behind its end otherwise.
import type { Mark, Node } from "prosemirror-model";
import { type EditorState, Plugin, TextSelection, type Transaction } from "prosemirror-state";
import { schema } from "./markdown/schema.ts";

const link = schema.marks.link!;

/** The position at the end of a link in which text was replaced, or null. It ends when the cursor moves. */
export const typedLinks: Plugin<number | null> = new Plugin<number | null>({
  state: {
    init: () => null,
    apply: (transaction, position, before, after) => (transaction.docChanged ? endAfter(position, before, after) : transaction.selectionSet ? null : position),
  },
  props: {
    handleTextInput(view, from, to, typed) {
      const { doc, storedMarks, tr } = view.state;
      const isReplaced = from < to && linkOf(doc, from, to) !== null;
      if (storedMarks || !(isReplaced || (from === to && typedLinks.getState(view.state) === from))) return false;
      const { marks } = isReplaced ? doc.nodeAt(from)! : doc.resolve(from).nodeBefore!;
      view.dispatch(insertText(tr, from, to, typed, marks));
      return true;
    },
  },
});

function insertText(transaction: Transaction, from: number, to: number, typed: string, marks: readonly Mark[]): Transaction {
  transaction.replaceWith(from, to, schema.text(typed, marks));
  return transaction.setSelection(TextSelection.create(transaction.doc, from + typed.length)).scrollIntoView();
}

function endAfter(position: number | null, before: EditorState, { selection }: EditorState): number | null {
  const present = linkOf(selection.$from.doc, selection.from - 1, selection.from);
  if (!selection.empty || !present) return null;
  const { from, to, empty } = before.selection;
  const isTyped = empty ? position === from : linkOf(before.doc, from, to)?.eq(present);
  return isTyped ? selection.from : null;
}

/** Return the link that all texts of a range have, or null. */
function linkOf(doc: Node, from: number, to: number): Mark | null {
  let [common, isSame] = [null as Mark | null, true];
  if (from < 0) return null;
  doc.nodesBetween(from, to, (node) => {
    if (!node.isInline) return;
    const own = link.isInSet(node.marks) ?? null;
    isSame &&= own !== null && (common === null || own.eq(common));
    common = own;
  });
  return isSame ? common : null;
}
