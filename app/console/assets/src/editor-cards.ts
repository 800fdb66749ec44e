// Cards in the formatted editor: components and shortcodes whose attributes are fields.
import { GapCursor } from "prosemirror-gapcursor";
import { closeHistory, redo, undo } from "prosemirror-history";
import type { Node } from "prosemirror-model";
import { type Command, NodeSelection, Selection, TextSelection } from "prosemirror-state";
import type { EditorView, NodeView } from "prosemirror-view";
import { create, icon } from "./dom.ts";
import { type Field, isReadOnly, readableName, readCard } from "./markdown/card.ts";
import { schema } from "./markdown/schema.ts";
import { text } from "./texts.ts";

type Control = HTMLInputElement | HTMLTextAreaElement;

/** Return the source of a card with another value of one field, or null if its notation has no form for the value. */
type Edit = (source: string, index: number, value: string) => string | null;

const CONTROLS = "input, textarea";
/** Characters of a value that takes a line of its own. */
const WIDE_LENGTH = 30;
let cards = 0;

/** Move from a selected card into its fields. */
export const enterCard: Command = (state, dispatch, view) => {
  if (!(state.selection instanceof NodeSelection) || state.selection.node.type !== schema.nodes.card) return false;
  const dom = view!.nodeDOM(state.selection.from) as HTMLElement;
  if (dispatch) (dom.querySelector<HTMLElement>(CONTROLS) ?? dom.querySelector("button")!).focus();
  return true;
};

/** A card with its fields. */
export class CardView implements NodeView {
  readonly dom: HTMLElement;
  private node: Node;
  private readonly view: EditorView;
  private readonly position: () => number | undefined;
  private readonly edit: Edit;
  private readonly id = `card-${++cards}`;
  private readonly controls = new Map<number, Control>();

  constructor(node: Node, view: EditorView, position: () => number | undefined, edit: Edit) {
    this.node = node;
    this.view = view;
    this.position = position;
    this.edit = edit;
    const { name, isEnd, fields } = readCard(node.attrs.source)!;
    const words = readableName(name);
    const title = create("p", { class: "card-block__title", id: this.id, title: name }, isEnd ? text("End of {name}", { name: words }) : words);
    const button = create("button", { type: "button", class: "button button--small", click: () => this.showSource() }, text("Edit as Markdown"));
    // The direction of the interface. Without it, the labels would determine the direction of the text.
    const dir = document.documentElement.dir || "ltr";
    const header = create("div", { class: "card-block__header" }, title, button);
    this.dom = create("div", { class: "card-block", role: "group", "aria-labelledby": this.id, dir }, header);
    const positional = fields.filter((field) => !field.name && field.notation !== "inner");
    for (const [index, field] of fields.entries()) {
      const number = positional.indexOf(field) + 1;
      const label = field.notation === "inner" ? text("Text") : field.name ? readableName(field.name) : text("Value {number}", { number });
      this.dom.append(isReadOnly(field) ? readOnlyField(field, label) : this.field(field, index, label));
    }
    this.dom.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type || node.attrs.key !== this.node.attrs.key) return false;
    const [before, after] = [readCard(this.node.attrs.source)!, readCard(node.attrs.source)!];
    const shape = ({ name, isEnd, fields }: typeof before) => JSON.stringify([name, isEnd, fields.map((field) => [field.name, isReadOnly(field) ? field.value : field.notation === "inner"])]);
    if (shape(before) !== shape(after)) return false;
    // A value that was refused stays visible until the document has another value for its field.
    for (const [index, control] of this.controls) {
      const { value } = after.fields[index]!;
      if (value === before.fields[index]!.value) continue;
      if (control.value !== value) control.value = value;
      this.setRefused(control, false);
    }
    this.node = node;
    return true;
  }

  // A selected node that can be dragged would prevent the selection of text in its fields with the mouse.
  selectNode(): void {
    this.dom.classList.add("ProseMirror-selectednode");
  }

  deselectNode(): void {
    this.dom.classList.remove("ProseMirror-selectednode");
  }

  stopEvent(event: Event): boolean {
    return event.target instanceof Element && event.target.closest(`${CONTROLS}, label, button`) !== null;
  }

  ignoreMutation(): boolean {
    return true;
  }

  private field(field: Field, index: number, label: string): HTMLElement {
    const id = `${this.id}-${index}`;
    const isLong = field.notation === "inner" || field.value.includes("\n");
    const control: Control = isLong
      ? create("textarea", { class: "input", id, rows: String(Math.min(8, field.value.split("\n").length + 1)), dir: "auto", autocomplete: "off" })
      : create("input", { class: "input", type: "text", id, dir: "auto", autocomplete: "off" });
    control.value = field.value;
    control.addEventListener("input", () => this.onInput(control, index));
    this.controls.set(index, control);
    const isWide = isLong || field.value.length > WIDE_LENGTH;
    return create("div", { class: `field${isWide ? " field--wide" : ""}` }, create("label", { class: "field__label", for: id }, label), control);
  }

  private onInput(control: Control, index: number): void {
    const at = this.position();
    if (at === undefined) return;
    const source = this.edit(this.node.attrs.source, index, control.value);
    this.setRefused(control, source === null);
    if (source === null || source === this.node.attrs.source) return;
    // A replaced node, and not a changed attribute: the history joins the letters that are typed without a pause.
    this.view.dispatch(this.view.state.tr.setNodeMarkup(at, undefined, { ...this.node.attrs, source }));
  }

  /** Show or remove the message that a value is not in the document. The form is not sent while it is shown. */
  private setRefused(control: Control, isRefused: boolean): void {
    const id = `${control.id}-error`;
    const message = text("This text cannot be saved here. Remove special characters or empty lines, or edit it as Markdown.");
    control.setCustomValidity(isRefused ? message : "");
    const shown = document.getElementById(id);
    if (isRefused === Boolean(shown)) return;
    if (isRefused) {
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-describedby", id);
      control.after(create("p", { class: "field__error", id, role: "alert" }, icon("alert-triangle"), message));
      return;
    }
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
    shown!.remove();
  }

  private onKey(event: KeyboardEvent): void {
    const control = event.target;
    const isControl = control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement;
    if (event.isComposing || !isControl) return;
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey && (key === "z" || key === "y")) {
      event.preventDefault();
      this.undo(control, key === "y" || event.shiftKey ? redo : undo);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (key === "enter" && control instanceof HTMLInputElement) event.preventDefault(); // It would send the form.
    if (key === "escape") this.leave(0);
    if (key.startsWith("arrow")) this.onArrow(event, control);
  }

  /** Undo in the document. A refused value is in no document: the field shows the last value that was accepted. */
  private undo(control: Control, command: Command): void {
    if (!control.validationMessage) {
      command(this.view.state, this.view.dispatch.bind(this.view), this.view);
      return;
    }
    const index = [...this.controls].find(([, each]) => each === control)![0];
    control.value = readCard(this.node.attrs.source)!.fields[index]!.value;
    this.setRefused(control, false);
  }

  /** Move to the next field, or out of the card from the first and the last one. */
  private onArrow(event: KeyboardEvent, control: Control): void {
    const direction = event.key === "ArrowUp" || event.key === "ArrowLeft" ? -1 : 1;
    const isVertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    const edge = direction < 0 ? 0 : control.value.length;
    const isAtEdge = control.selectionStart === edge && control.selectionEnd === edge;
    if (!isAtEdge && !(isVertical && control instanceof HTMLInputElement)) return;
    const all = [...this.controls.values()];
    const next = all[all.indexOf(control) + direction];
    if (next && !isVertical) return;
    event.preventDefault();
    if (next) next.focus();
    else this.leave(direction);
  }

  /** Put the cursor into the text before (-1) or after (1) the card, or select the card (0). */
  private leave(direction: -1 | 0 | 1): void {
    const at = this.position();
    if (at === undefined) return;
    const { doc, tr } = this.view.state;
    const $edge = doc.resolve(direction > 0 ? at + this.node.nodeSize : at);
    const neighbour = direction > 0 ? $edge.nodeAfter : $edge.nodeBefore;
    const outside = neighbour && !neighbour.isAtom ? Selection.near($edge, direction || 1) : new GapCursor($edge);
    this.view.focus();
    this.view.dispatch(tr.setSelection(direction ? outside : NodeSelection.create(doc, at)).scrollIntoView());
  }

  /** Replace the card by its source, with the texts that were refused. It becomes a card again when the page is loaded. */
  private showSource(): void {
    const at = this.position();
    if (at === undefined) return;
    const { key } = this.node.attrs;
    let { source } = this.node.attrs;
    const { fields } = readCard(source)!;
    for (const [index, control] of [...this.controls].reverse()) {
      const { start, end, notation } = fields[index]!;
      const quote = notation === "inner" || notation === "bare" ? 0 : 1;
      if (control.validationMessage) source = source.slice(0, start + quote) + control.value + source.slice(end - quote);
    }
    const block = schema.nodes.source_block!.create({ key }, schema.text(source.replace(/\r\n?/g, "\n")));
    const tr = closeHistory(this.view.state.tr).replaceWith(at, at + this.node.nodeSize, block);
    this.view.dispatch(tr.setSelection(TextSelection.create(tr.doc, at + 1)).scrollIntoView());
    this.view.focus();
  }
}

function readOnlyField(field: Field, label: string): HTMLElement {
  const value = field.notation === "flag" ? text("Yes") : field.value;
  return create("div", { class: "field" }, create("span", { class: "field__label" }, label), create("code", { class: "card-block__code", dir: "ltr" }, value));
}
