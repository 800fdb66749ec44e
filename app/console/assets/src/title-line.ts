// The title of a page: one line that grows. Enter goes to the text.

/** Let the title grow with its text, and move the focus to the text on Enter. */
export function initTitle(form: HTMLFormElement): void {
  const title = form.querySelector<HTMLTextAreaElement>("textarea[data-title]");
  if (!title) return;
  title.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    (form.querySelector<HTMLElement>(".ProseMirror, .cm-content") ?? form.querySelector<HTMLElement>(".editor__text textarea"))?.focus();
  });
  title.addEventListener("input", () => {
    if (!title.dataset.lines && /[\r\n]/.test(title.value)) title.value = title.value.replace(/\s*[\r\n]+\s*/g, " ");
    grow();
  });
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    title.style.blockSize = "auto";
    title.style.blockSize = `${title.scrollHeight}px`;
  };
  grow();
}
