// `<galley-source-editor>`: a CodeMirror editor over the textarea inside.
import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { Language, bracketMatching, defineLanguageFacet, indentOnInput, languageDataProp, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { create, icon } from "./dom.ts";
import { linkAround, linkSource } from "./markdown/links.ts";
import { text } from "./texts.ts";
import { acceptsImages, imagesOf, upload } from "./upload.ts";

const LANGUAGES: Record<string, () => Promise<Extension>> = {
  md: markdown,
  html: async () => (await import("@codemirror/lang-html")).html(),
  yaml: async () => (await import("@codemirror/lang-yaml")).yaml(),
  json: async () => (await import("@codemirror/lang-json")).json(),
  css: async () => (await import("@codemirror/lang-css")).css(),
  js: async () => (await import("@codemirror/lang-javascript")).javascript({ jsx: true, typescript: true }),
};
const ALIASES: Record<string, string> = {
  ...{ markdown: "md", mdx: "md", markdoc: "md", yml: "yaml", javascript: "js", typescript: "js", jsx: "js", tsx: "js", scss: "css" },
  ...{ xml: "html", svg: "html", vue: "html", astro: "html", svelte: "html", jinja: "html" },
};
const SYNC_DELAY_MS = 200;

/** Markdown alone: the package `@codemirror/lang-markdown` also loads the parsers of HTML, CSS and JavaScript. */
async function markdown(): Promise<Extension> {
  const { GFM, parser } = await import("@lezer/markdown");
  const facet = defineLanguageFacet({ commentTokens: { block: { open: "<!--", close: "-->" } } });
  return new Language(facet, parser.configure([GFM, { props: [languageDataProp.add({ Document: facet })] }]), [], "markdown").extension;
}

class SourceEditor extends HTMLElement {
  private textarea!: HTMLTextAreaElement;
  private view: EditorView | null = null;
  private timer = 0;

  async connectedCallback(): Promise<void> {
    const textarea = this.querySelector("textarea");
    if (!textarea || this.textarea) return;
    this.textarea = textarea;
    const language = await LANGUAGES[this.language]?.();
    if (this.hasLinks) this.append(this.bar());
    this.view = new EditorView({ parent: this, state: this.state(language ?? []) });
    this.setAttribute("ready", "");
    textarea.form?.addEventListener("submit", () => this.flush(), { capture: true });
    for (const label of textarea.labels) label.addEventListener("click", () => this.view?.focus());
    if (textarea.autofocus) this.view?.focus();
  }

  private get language(): string {
    const { language = "", path = "" } = this.dataset;
    const name = language || path.replace(/^.*\./, "");
    return ALIASES[name] ?? name;
  }

  private get hasLinks(): boolean {
    return Boolean(this.dataset.linksUrl) && !this.textarea.readOnly;
  }

  private bar(): HTMLElement {
    const label = text("Link");
    const button = create("button", { type: "button", class: "format-bar__button", "aria-label": label, title: label, click: () => void this.editLink() }, icon("link"));
    return create("div", { class: "format-bar", role: "toolbar", "aria-label": text("Formatting") }, button);
  }

  /** Add a link to the selected text, or change the link at the cursor. */
  private async editLink(): Promise<void> {
    const view = this.view!;
    const { state } = view;
    const { from, to } = state.selection.main;
    const line = state.doc.lineAt(from);
    const link = linkAround(line.text, from - line.from, to - line.from);
    const range = link ? { from: line.from + link.from, to: line.from + link.to } : { from, to };
    const { askForLink } = await import("./link-dialog.ts");
    const present = link?.text ?? state.sliceDoc(from, to);
    const answer = await askForLink(this, { text: present, href: link?.href ?? "", isPresent: link !== null });
    view.focus();
    if (!answer || view.state.doc !== state.doc) return;
    const insert = answer === "remove" ? present : linkSource({ ...answer, title: link?.title ?? "" });
    view.dispatch({ changes: { ...range, insert }, selection: { anchor: range.from + insert.length }, scrollIntoView: true });
    this.flush();
  }

  private state(language: Extension): EditorState {
    const { textarea } = this;
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
    return EditorState.create({
      doc: textarea.value,
      extensions: [
        EditorView.cspNonce.of(nonce),
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping,
        EditorState.readOnly.of(textarea.readOnly),
        EditorView.contentAttributes.of({
          "aria-label": textarea.labels[0]?.textContent?.trim() || text("Text"),
          spellcheck: this.language === "md" ? "true" : "false",
        }),
        // Tab leaves the editor: keyboard users can go on to the next control.
        keymap.of([...(this.hasLinks ? [{ key: "Mod-k", preventDefault: true, run: () => (void this.editLink(), true) }] : []), ...standardKeymap, ...historyKeymap, ...searchKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.scheduleFlush();
        }),
        EditorView.domEventHandlers({
          blur: () => this.flush(),
          paste: (event) => this.addImages(imagesOf(event.clipboardData)),
          drop: (event) => this.addImages(imagesOf(event.dataTransfer)),
        }),
        language,
      ],
    });
  }

  private scheduleFlush(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.flush(), SYNC_DELAY_MS);
  }

  /** Write the text into the textarea now. */
  flush(): void {
    if (!this.timer || !this.view) return;
    clearTimeout(this.timer);
    this.timer = 0;
    const value = this.view.state.doc.toString();
    if (value === this.textarea.value) return;
    this.textarea.value = value;
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Read the textarea again. The change can be undone. */
  load(): void {
    const { view } = this;
    view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: this.textarea.value } });
  }

  /** Insert a text where the cursor is. */
  insert(value: string): void {
    const { view } = this;
    view?.dispatch(view.state.replaceSelection(value), { scrollIntoView: true });
    this.flush();
  }

  private addImages(files: File[]): boolean {
    if (!files.length || !acceptsImages(this)) return false;
    void (async () => {
      const { describeImage } = await import("./image-dialog.ts");
      for (const file of files) {
        const image = await upload(this, file);
        if (!image) continue;
        const alt = (await describeImage(image.alt)) ?? image.alt;
        this.insert(`![${alt.replace(/[\[\]\\]/g, "\\$&")}](${image.url})`);
      }
    })();
    return true;
  }
}

customElements.define("galley-source-editor", SourceEditor);
