// Script in the pages of a built site that a review link shows. It reports the selected text, or the tapped block, to the
// page of the link. It sends nothing else, and reads nothing from that page. `app/content/text_quotes.py` reads the same text.
const CONTEXT = 64;
const MAX_EXACT = 500;
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, td, th, dt, dd, blockquote, figcaption, pre";
const SKIPPED = "script, style, template, noscript, title";

function textOf(range: Range): string {
  const walker = document.createTreeWalker(range.commonAncestorContainer, NodeFilter.SHOW_TEXT);
  let result = "";
  let node: Node | null = walker.root.nodeType === Node.TEXT_NODE ? walker.root : walker.nextNode();
  for (; node; node = walker.nextNode()) {
    if (!range.intersectsNode(node) || node.parentElement?.closest(SKIPPED)) continue;
    const from = node === range.startContainer ? range.startOffset : 0;
    const to = node === range.endContainer ? range.endOffset : (node.nodeValue ?? "").length;
    result += (node.nodeValue ?? "").slice(from, to);
  }
  return result;
}

function between(start: Node, startOffset: number, end: Node, endOffset: number): string {
  const range = document.createRange();
  range.setStart(start, startOffset);
  range.setEnd(end, endOffset);
  return textOf(range).replace(/\s+/g, " ");
}

function report(range: Range): void {
  const exact = textOf(range).replace(/\s+/g, " ").trim();
  if (!exact || exact.length > MAX_EXACT) return send({ kind: "none" });
  const { body } = document;
  const before = between(body, 0, range.startContainer, range.startOffset);
  const after = between(range.endContainer, range.endOffset, body, body.childNodes.length);
  const inside = textOf(range);
  // The spaces at the ends of the selection belong to the text around it. Half of a character cannot be sent.
  const prefix = (before + (/^\s/.test(inside) ? " " : "")).replace(/\s+/g, " ").slice(-CONTEXT).replace(/^[\uDC00-\uDFFF]/, "");
  const suffix = ((/\s$/.test(inside) ? " " : "") + after).replace(/\s+/g, " ").slice(0, CONTEXT).replace(/[\uD800-\uDBFF]$/, "");
  send({ kind: "text", exact, prefix, suffix });
}

function send(message: object): void {
  parent.postMessage({ galley: 1, page: location.pathname, ...message }, "*");
}

if (parent !== window) {
  send({ kind: "page" });
  let timer = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const selection = getSelection();
      if (selection?.rangeCount && !selection.isCollapsed) report(selection.getRangeAt(0));
    }, 200);
  });
  document.addEventListener("click", (event) => {
    const element = event.target instanceof Element ? event.target : null;
    if (!element || element.closest("a, button, input, select, textarea, label, summary") || !getSelection()?.isCollapsed) return;
    const block = element.closest(BLOCKS);
    if (!block) return;
    const range = document.createRange();
    range.selectNodeContents(block);
    report(range);
  });
}
