// The text of the page, in one of the two editors or in a plain text area.

interface TextEditor extends HTMLElement {
  flush(): void;
  load(): void;
  insert(text: string): void;
}

/** Access to the text of the form for other parts of the page. */
export class PageText {
  private readonly area: HTMLTextAreaElement;

  constructor(form: HTMLFormElement) {
    this.area = form.querySelector<HTMLTextAreaElement>("textarea[name=body]")!;
  }

  get value(): string {
    this.editor?.flush();
    return this.area.value;
  }

  set value(text: string) {
    this.editor?.flush();
    this.area.value = text;
    this.editor?.load();
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Insert a text where the cursor is. */
  insert(text: string): void {
    const editor = this.editor;
    if (editor) return editor.insert(text);
    this.area.setRangeText(text);
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  private get editor(): TextEditor | null {
    return this.area.closest<TextEditor>("galley-rich-editor[ready], galley-source-editor[ready]");
  }
}
