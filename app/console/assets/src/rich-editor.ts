// `<galley-rich-editor>`: a ProseMirror editor over the textarea inside. It never rewrites text that was not edited.
import { baseKeymap, chainCommands, exitCode, lift, setBlockType, toggleMark, wrapIn } from "prosemirror-commands";
import { dropCursor } from "prosemirror-dropcursor";
import { GapCursor, gapCursor } from "prosemirror-gapcursor";
import { history, redo, undo } from "prosemirror-history";
import { InputRule, inputRules, textblockTypeInputRule, wrappingInputRule } from "prosemirror-inputrules";
import { keymap } from "prosemirror-keymap";
import type { MarkType, Node, NodeType } from "prosemirror-model";
import { liftListItem, sinkListItem, wrapInList } from "prosemirror-schema-list";
import { type Command, EditorState, NodeSelection, Plugin, Selection, TextSelection, type Transaction } from "prosemirror-state";
import { goToNextCell, tableEditing } from "prosemirror-tables";
import { Decoration, DecorationSet, EditorView } from "prosemirror-view";
import { create, icon, initToolbar } from "./dom.ts";
import { CardView, enterCard } from "./editor-cards.ts";
import { cellBelow, insertTable, isEmptyParagraph, itemView, nextCell, oneLine, regularTables, splitItem, tableBar, toggleTask, withBlock } from "./editor-tables.ts";
import type { ChosenImage } from "./image-dialog.ts";
import { MarkdownFile } from "./markdown/file.ts";
import { isTemplateTarget } from "./markdown/links.ts";
import { editCard } from "./markdown/parse.ts";
import { schema } from "./markdown/schema.ts";
import type { EditorClasses, onlyBlock } from "./only-block.ts";
import { cleanHtml, clipboardSerializer, parseText, restoreSpaces } from "./paste.ts";
import { text } from "./texts.ts";
import { typedLinks } from "./typed-links.ts";
import { acceptsImages, imagesOf, previewOf, upload } from "./upload.ts";

const { nodes, marks } = schema as { nodes: Record<string, NodeType>; marks: Record<string, MarkType> };
export const classes: EditorClasses = { Plugin, Selection, TextSelection, Decoration, DecorationSet };
const SYNC_DELAY_MS = 200;
const STATIC_FOLDERS = ["static", "public"];

class RichEditor extends HTMLElement {
  /** The only block that the editor shows. It is set before the editor is in the page. */
  declare only?: ReturnType<typeof onlyBlock>;
  private textarea!: HTMLTextAreaElement;
  private view: EditorView | null = null;
  private file!: MarkdownFile;
  private timer = 0;

  connectedCallback(): void {
    const textarea = this.querySelector("textarea");
    if (!textarea || this.view) return;
    this.textarea = textarea;
    const bar = create("div", { class: "format-bar", role: "toolbar", "aria-label": text("Formatting") });
    this.append(bar);
    try {
      this.load();
      this.fillBar(bar);
    } catch (error) {
      this.fail(error, null);
      return;
    }
    this.setAttribute("ready", "");
    textarea.form?.addEventListener("submit", () => this.flush(), { capture: true });
    for (const label of textarea.labels) label.addEventListener("click", () => this.focusText());
    if (textarea.autofocus) this.focusText();
  }

  private focusText(): void {
    const view = this.view;
    if (view && this.only) view.dispatch(view.state.tr.setSelection(this.only.end(view.state)));
    view?.focus();
  }

  /** The text of the block with an index, without its format. */
  textOf(index: number): string | null {
    return this.file.doc.maybeChild(index)?.textContent ?? null;
  }

  private get isMdx(): boolean {
    return "mdx" in this.dataset;
  }

  /** Read the textarea again, for example after a draft was restored. */
  load(): void {
    this.file = new MarkdownFile(this.textarea.value, this.isMdx);
    const state = EditorState.create({ doc: this.file.doc, plugins: [...(this.only ? [this.only.plugin] : []), ...plugins(() => void this.editLink())] });
    if (this.view) {
      this.view.updateState(state);
      return;
    }
    this.view = new EditorView(this, {
      state,
      attributes: {
        role: "textbox",
        "aria-multiline": "true",
        "aria-label": this.textarea.labels[0]?.textContent?.trim() || text("Text"),
        spellcheck: "true",
        dir: "auto",
      },
      dispatchTransaction: (transaction) => this.dispatch(transaction),
      nodeViews: {
        image: (node) => this.imageView(node),
        list_item: itemView,
        card: (node, view, position) =>
          new CardView(node, view, position, (source, index, value) => editCard(source, index, value, this.isMdx, this.file.lineEnd)),
      },
      // A change of a card's field does not scroll to the cursor of the text.
      handleScrollToSelection: (view) => view.dom !== document.activeElement && view.dom.contains(document.activeElement),
      handleDoubleClickOn: (_view, _position, node) => node.type === nodes.image && (void this.editImage(), true),
      clipboardSerializer,
      transformPastedHTML: cleanHtml,
      transformPasted: (slice, view) => oneLine(restoreSpaces(slice), view.state),
      clipboardTextParser: (value, $context, plain) => parseText(value, $context, plain, this.isMdx)!,
      handlePaste: (view, event) => this.addImages(imagesOf(event.clipboardData)) || pasteFromCodeEditor(view, event),
      handleDrop: (_view, event, _slice, moved) => !moved && this.addImages(imagesOf(event.dataTransfer)),
      // A browser reports a moved cursor late. Without the report, a key that follows at once is applied at the old place.
      handleDOMEvents: { blur: () => this.flush(), keydown: () => void document.dispatchEvent(new Event("selectionchange")) },
    });
  }

  /** Write the text into the textarea now. */
  flush(): void {
    if (!this.timer || !this.view) return;
    clearTimeout(this.timer);
    this.timer = 0;
    const { doc } = this.view.state;
    try {
      this.store(this.file.text(doc));
    } catch (error) {
      this.fail(error, doc);
    }
  }

  private store(value: string): void {
    if (value === this.textarea.value) return;
    this.textarea.value = value;
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Show the text area instead of the editor, with the text of the document that the user sees. */
  private fail(error: unknown, doc: Node | null): void {
    console.error(error);
    clearTimeout(this.timer);
    this.timer = 0;
    if (doc) {
      let value = this.textarea.value;
      try {
        value = this.file.text(doc);
      } catch {
        value = doc.textBetween(0, doc.content.size, "\n\n", (leaf) => leaf.type.spec.leafText?.(leaf) ?? "");
      }
      this.store(value);
    }
    this.view?.destroy();
    this.view = null;
    this.removeAttribute("ready");
    this.setAttribute("failed", "");
    for (const child of [...this.children]) if (child !== this.textarea) child.remove();
    const message = text("The formatted editor has stopped. Your text is here as Markdown.");
    this.prepend(create("div", { class: "banner banner--warning", role: "alert" }, icon("alert-triangle"), create("p", {}, message)));
  }

  /** Insert a text where the cursor is. */
  insert(value: string): void {
    const view = this.view!;
    view.dispatch(this.insertion().insertText(value).scrollIntoView());
    this.flush();
  }

  /** Return a transaction that inserts at the cursor, and after a selected card instead of replacing it. */
  private insertion(): Transaction {
    const { tr, selection } = this.view!.state;
    const isCard = selection instanceof NodeSelection && selection.node.type === nodes.card;
    return isCard ? tr.setSelection(new GapCursor(tr.doc.resolve(selection.to))) : tr;
  }

  private dispatch(transaction: Transaction): void {
    const view = this.view!;
    const state = view.state.apply(transaction);
    if (transaction.docChanged) {
      if (this.timer) clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.flush(), SYNC_DELAY_MS);
    }
    try {
      view.updateState(state);
      this.dispatchEvent(new Event("state"));
    } catch (error) {
      this.fail(error, state.doc);
    }
  }

  private imageView(node: Node) {
    const { src, alt } = node.attrs;
    if (isTemplateTarget(src)) return { dom: create("code", { class: "raw-inline", dir: "ltr" }, `![${alt}](${src})`) };
    const image = create("img", { alt, title: node.attrs.title ?? src, "data-source": src });
    const dom = create("span", {}, image);
    const urls = this.imageUrls(src);
    const next = () => {
      const url = urls.shift();
      if (url) image.src = url;
      else dom.replaceChildren(create("span", { class: "image-box", title: src }, icon("image"), alt || src.replace(/^.*\//, "")));
    };
    image.addEventListener("error", next);
    next();
    return { dom };
  }

  /** Return the URLs under which the service may return an image of the draft or the repository, and none for another origin. */
  private imageUrls(source: string): string[] {
    const base = this.dataset.mediaUrl;
    if (!base || /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(source)) return [];
    const known = previewOf(this, source);
    const declared = foldersOf(this)
      .filter(([address]) => source.startsWith(address) && address.startsWith("/") === source.startsWith("/"))
      .map(([address, folder]) => folder + source.slice(address.length).replace(/[?#].*$/, ""));
    const folder = `/${this.dataset.path ?? ""}`.replace(/[^/]*$/, "");
    const path = pathOf(source.replace(/[?#].*$/, ""), folder);
    // A path of the site names a file in the folder of static files.
    const paths = source.startsWith("/") ? [...STATIC_FOLDERS.map((name) => `${name}/${path}`), path] : [path];
    return [...(known ? [known] : []), ...[...declared, ...paths].map((each) => base + encodeURIComponent(each))];
  }

  private addImages(files: File[]): boolean {
    if (!files.length || !acceptsImages(this)) return false;
    void (async () => {
      const { describeImage } = await import("./image-dialog.ts");
      for (const file of files) {
        const image = await upload(this, file);
        if (image) this.insertImage({ url: image.url, alt: (await describeImage(image.alt)) ?? image.alt });
      }
    })();
    return true;
  }

  private insertImage({ url, alt }: ChosenImage): void {
    const view = this.view!;
    view.dispatch(this.insertion().replaceSelectionWith(nodes.image!.create({ src: url, alt })));
    view.focus();
  }

  /** Change the description of the selected image, or insert one. */
  private async editImage(): Promise<void> {
    const view = this.view!;
    const { chooseImage, describeImage } = await import("./image-dialog.ts");
    const { selection } = view.state;
    if (!(selection instanceof NodeSelection) || selection.node.type !== nodes.image) {
      const image = await chooseImage(this);
      if (image) this.insertImage(image);
      return;
    }
    const { node, from } = selection;
    const alt = await describeImage(node.attrs.alt ?? "");
    if (alt === null || alt === (node.attrs.alt ?? "") || view.state.doc.nodeAt(from) !== node) return;
    view.dispatch(view.state.tr.setNodeMarkup(from, undefined, { ...node.attrs, alt }));
    view.focus();
  }

  private fillBar(bar: HTMLElement): void {
    const styles: [string, string, Command][] = [
      ["paragraph", text("Paragraph"), setBlockType(nodes.paragraph!)],
      ...[1, 2, 3, 4].map((level): [string, string, Command] => [
        `heading${level}`, text("Heading {level}", { level }), setBlockType(nodes.heading!, { level }),
      ]),
      ["code_block", text("Code block"), setBlockType(nodes.code_block!)],
    ];
    const select = create("select", { "aria-label": text("Style") }, ...styles.map(([value, label]) => create("option", { value }, label)));
    select.append(create("option", { value: "source_block", hidden: true }, text("Markdown")));
    select.append(create("option", { value: "table", hidden: true }, text("Table")));
    select.addEventListener("change", () => this.run(styles.find(([value]) => value === select.value)![2]));
    bar.append(select);
    const buttons: [string, string, Command, MarkType?][] = [
      ["bold", text("Bold"), toggleMark(marks.strong!), marks.strong],
      ["italic", text("Italic"), toggleMark(marks.em!), marks.em],
      ["strikethrough", text("Strikethrough"), toggleMark(marks.strike!), marks.strike],
      ["code", text("Code"), toggleMark(marks.code!), marks.code],
      ["link", text("Link"), (_state, dispatch) => (dispatch && void this.editLink(), true), marks.link],
      ["list", text("Bulleted list"), chainCommands(liftFrom(nodes.bullet_list!), wrapInList(nodes.bullet_list!))],
      ["list-ordered", text("Numbered list"), chainCommands(liftFrom(nodes.ordered_list!), wrapInList(nodes.ordered_list!))],
      ["list-todo", text("Task list"), toggleTask],
      ["quote", text("Quote"), chainCommands(liftFrom(nodes.blockquote!), wrapIn(nodes.blockquote!))],
      ["table", text("Table"), insertTable],
      ["minus", text("Horizontal rule"), insertRule],
      ["undo", text("Undo"), undo],
      ["redo", text("Redo"), redo],
    ];
    const update: (() => void)[] = [];
    for (const [name, label, command, mark] of buttons) {
      const button = create("button", { type: "button", class: "format-bar__button", "aria-label": label, title: label }, icon(name));
      if (name === "link") button.setAttribute("aria-haspopup", "dialog");
      button.addEventListener("mousedown", (event) => event.preventDefault());
      button.addEventListener("click", () => this.run(command));
      update.push(() => {
        const state = this.view!.state;
        button.disabled = !command(state);
        if (mark) button.setAttribute("aria-pressed", String(isActive(state, mark)));
      });
      bar.append(button);
    }
    if (acceptsImages(this)) {
      const label = text("Image");
      bar.append(create("button", { type: "button", class: "format-bar__button", "aria-label": label, "aria-haspopup": "dialog", title: label, click: () => void this.editImage() }, icon("image")));
    }
    update.push(() => {
      const { parent } = this.view!.state.selection.$from;
      const isFixed = parent.type === nodes.source_block || parent.type.spec.tableRole !== undefined;
      select.value = parent.type === nodes.heading ? `heading${parent.attrs.level}` : parent.type.spec.tableRole ? "table" : parent.type.name;
      select.disabled = isFixed;
    });
    const table = tableBar((command) => this.run(command));
    bar.after(table.bar);
    update.push(() => table.update(this.view!.state), initToolbar(bar), initToolbar(table.bar));
    const refresh = () => update.forEach((each) => each());
    this.addEventListener("state", refresh);
    refresh();
  }

  private run(command: Command): void {
    const view = this.view!;
    command(view.state, (transaction) => view.dispatch(transaction.scrollIntoView()), view);
    view.focus();
  }

  /** Add a link to the selected text, or change the link at the cursor. */
  private async editLink(): Promise<void> {
    const view = this.view!;
    const { state } = view;
    const { empty, $from, from, to } = state.selection;
    const existing = marks.link!.isInSet(empty ? $from.marks() : ($from.nodeAfter?.marks ?? []));
    const range = existing && empty ? rangeOf(state, marks.link!) : { from, to };
    const present = state.doc.textBetween(range.from, range.to, " ", " ");
    let hasFixedText = !$from.sameParent(state.selection.$to);
    state.doc.nodesBetween(range.from, range.to, (node) => void (hasFixedText ||= node.isInline && !node.isText));
    const { askForLink } = await import("./link-dialog.ts");
    const answer = await askForLink(this, { text: present, href: existing?.attrs.href ?? "", isPresent: Boolean(existing), hasFixedText });
    view.focus();
    if (!answer || view.state.doc !== state.doc) return;
    const transaction = view.state.tr.removeMark(range.from, range.to, marks.link!);
    if (answer !== "remove") {
      const mark = marks.link!.create({ href: answer.href, title: existing?.attrs.title ?? null });
      if (hasFixedText || answer.text === present) transaction.addMark(range.from, range.to, mark);
      else {
        const others = marks.link!.removeFromSet(range.from === range.to ? $from.marks() : (state.doc.nodeAt(range.from)?.marks ?? []));
        transaction.replaceWith(range.from, range.to, schema.text(answer.text, mark.addToSet(others)));
      }
    }
    view.dispatch(transaction.scrollIntoView());
  }
}

/** Paste the text of a code editor, which also offers its colours as HTML. */
function pasteFromCodeEditor(view: EditorView, event: ClipboardEvent): boolean {
  const data = event.clipboardData;
  return Boolean(data?.types.includes("vscode-editor-data")) && view.pasteText(data!.getData("text/plain"), event);
}

/** Return the media folders of the collection: the start of an address, and the start of the path. */
function foldersOf(editor: HTMLElement): [string, string][] {
  return JSON.parse(editor.dataset.mediaFolders || "[]");
}

/** Return the path of the repository to which an address leads. An address that is no valid URL is a path as it is written. */
function pathOf(source: string, folder: string): string {
  try {
    return decodeURIComponent(new URL(source, `http://repository${folder}`).pathname).slice(1);
  } catch {
    return (source.startsWith("/") ? source : folder + source).slice(1);
  }
}

function plugins(editLink: () => void): Plugin[] {
  const { hard_break, list_item, paragraph } = nodes;
  const insertBreak: Command = (state, dispatch) => {
    dispatch?.(state.tr.replaceSelectionWith(hard_break!.create()).scrollIntoView());
    return true;
  };
  // An empty paragraph has no Markdown. Backspace and Enter at the end of a code block leave it.
  return [
    typedLinks,
    inputRules({ rules: rules() }),
    keymap({
      "Mod-z": undo,
      "Mod-y": redo,
      "Mod-Shift-z": redo,
      "Mod-b": toggleMark(marks.strong!),
      "Mod-i": toggleMark(marks.em!),
      "Mod-Shift-x": toggleMark(marks.strike!),
      "Mod-e": toggleMark(marks.code!),
      "Mod-k": (state) => {
        if (state.selection.$from.parent.type.spec.code) return false;
        editLink();
        return true;
      },
      "Shift-Enter": chainCommands(exitCode, insertBreak),
      "Mod-Enter": exitCode,
      Enter: chainCommands(cellBelow, splitItem),
      Tab: chainCommands(enterCard, nextCell, sinkListItem(list_item!)),
      "Shift-Tab": chainCommands(goToNextCell(-1), liftListItem(list_item!)),
      "Mod-Home": toEdge(0),
      "Meta-ArrowUp": toEdge(0),
      "Mod-End": toEdge(-1),
      "Meta-ArrowDown": toEdge(-1),
      "Mod-Alt-0": setBlockType(paragraph!),
      "Mod-Alt-1": setBlockType(nodes.heading!, { level: 1 }),
      "Mod-Alt-2": setBlockType(nodes.heading!, { level: 2 }),
      "Mod-Alt-3": setBlockType(nodes.heading!, { level: 3 }),
    }),
    codeEndsWithLink,
    keymap(baseKeymap),
    dropCursor({ class: "drop-cursor" }),
    gapCursor(),
    history(),
    regularTables,
    tableEditing(),
  ];
}

/** Type text behind a link whose text is code as text. */
const codeEndsWithLink = new Plugin({
  appendTransaction(_transactions, _before, state) {
    const { selection, storedMarks, tr } = state;
    const { nodeBefore, nodeAfter } = selection.$from;
    const link = marks.link!.isInSet(nodeBefore?.marks ?? []);
    const present = selection.$from.marks();
    if (!selection.empty || storedMarks || !link || link.isInSet(nodeAfter?.marks ?? []) || !marks.code!.isInSet(present) || typedLinks.getState(state) === selection.from) return null;
    return tr.setStoredMarks(marks.code!.removeFromSet(present));
  },
});

function rules(): InputRule[] {
  const isSource = (state: EditorState) => state.selection.$from.parent.type.spec.code;
  const guarded = (rule: InputRule) => Object.assign(rule, { inCode: false });
  const markRule = (pattern: RegExp, type: MarkType) =>
    new InputRule(pattern, (state, match, start, end) => {
      if (isSource(state)) return null;
      const content = match[2]!;
      const transaction = state.tr.delete(start, end).insert(start, schema.text(content, [type.create()]));
      return transaction.removeStoredMark(type);
    });
  return [
    textblockTypeInputRule(/^(#{1,6})\s$/, nodes.heading!, (match) => ({ level: match[1]!.length })),
    textblockTypeInputRule(/^```([\w-]*)\s$/, nodes.code_block!, (match) => ({ info: match[1] })),
    wrappingInputRule(/^\s*>\s$/, nodes.blockquote!),
    wrappingInputRule(/^\s*([-*+])\s$/, nodes.bullet_list!, (match) => ({ marker: match[1] })),
    wrappingInputRule(/^(\d+)([.)])\s$/, nodes.ordered_list!, (match) => ({ order: Number(match[1]), delimiter: match[2] })),
    new InputRule(/^(?:---|\*\*\*|___)$/, (state, match) => {
      const { $from, empty } = state.selection;
      // The last character is not inserted yet. A paragraph with more text stays.
      const isRule = empty && $from.depth === 1 && $from.parent.content.size === match[0].length - 1;
      return isRule ? withBlock(state, nodes.horizontal_rule!.create({ markup: match[0] }), true) : null;
    }),
    new InputRule(/^\[([ x]?)\]\s$/, (state, match, start, end) => {
      const { $from } = state.selection;
      if ($from.node(-1)?.type !== nodes.list_item || $from.index(-1)) return null;
      return state.tr.delete(start, end).setNodeAttribute($from.before(-1), "task", match[1] || " ");
    }),
    markRule(/(~~)([^~\s](?:[^~]*[^~\s])?)~~$/, marks.strike!),
    markRule(/(\*\*)([^*\s](?:[^*]*[^*\s])?)\*\*$/, marks.strong!),
    markRule(/(?<![*\w])(\*)([^*\s](?:[^*]*[^*\s])?)\*$/, marks.em!),
    markRule(/(`)([^`]+)`$/, marks.code!),
  ].map(guarded);
}

const insertRule: Command = (state, dispatch) => {
  const { $from } = state.selection;
  if ($from.depth && $from.node(1).type === nodes.table) return false;
  dispatch?.(withBlock(state, nodes.horizontal_rule!.create(), isEmptyParagraph(state)).scrollIntoView());
  return true;
};

/** Move to the start or the end of a text beside a card, where a browser has no place for the cursor. */
function toEdge(index: 0 | -1): Command {
  return (state, dispatch) => {
    if (state.doc.children.at(index)!.type !== nodes.card) return false;
    dispatch?.(state.tr.setSelection(new GapCursor(state.doc.resolve(index && state.doc.content.size))).scrollIntoView());
    return true;
  };
}

function liftFrom(type: NodeType): Command {
  return (state, dispatch, view) => {
    const { $from } = state.selection;
    for (let depth = $from.depth; depth > 0; depth--) {
      const parent = $from.node(depth).type;
      if (parent === nodes.list_item) continue;
      if (parent === type) return (type === nodes.blockquote ? lift : liftListItem(nodes.list_item!))(state, dispatch, view);
    }
    return false;
  };
}

function isActive(state: EditorState, mark: MarkType): boolean {
  const { from, to, empty, $from } = state.selection;
  if (empty) return Boolean(mark.isInSet(state.storedMarks ?? $from.marks()));
  return state.doc.rangeHasMark(from, to, mark);
}

/** Return the range around the cursor that has a mark. */
function rangeOf(state: EditorState, type: MarkType): { from: number; to: number } {
  const { $from } = state.selection;
  const parent = $from.parent;
  let first = $from.index();
  let last = first;
  if (first && !(parent.maybeChild(first) && type.isInSet(parent.child(first).marks))) first = last = first - 1;
  while (first > 0 && type.isInSet(parent.child(first - 1).marks)) first--;
  while (last + 1 < parent.childCount && type.isInSet(parent.child(last + 1).marks)) last++;
  let from = $from.start();
  for (let index = 0; index < first; index++) from += parent.child(index).nodeSize;
  let to = from;
  for (let index = first; index <= last; index++) to += parent.child(index).nodeSize;
  return { from, to };
}

customElements.define("galley-rich-editor", RichEditor);
