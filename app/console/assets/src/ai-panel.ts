// AI suggestions: a chat about the page, changes of its text that the user accepts, and a text for the history.
import { create } from "./dom.ts";
import type { PanelPart } from "./editor-panel.ts";
import { events } from "./stream.ts";
import { PageText } from "./text-editor.ts";
import { text } from "./texts.ts";

const MAX_CONTEXT = 16_000;
const MAX_COMPLETED = 4_000;
const INSTRUCTIONS: Record<string, string> = {
  correct: "Correct spelling, grammar and punctuation. Keep the language, the meaning and the Markdown. Change nothing else.",
  shorten: "Make the text shorter. Keep the language, the meaning and the Markdown.",
};

interface Message {
  role: "user" | "assistant";
  content: string;
}

export class AiPanel implements PanelPart {
  private readonly part: HTMLElement;
  private readonly log: HTMLElement;
  private readonly status: HTMLElement;
  private readonly prompt: HTMLTextAreaElement;
  private readonly page: PageText;
  private readonly messages: Message[] = [];
  private request: AbortController | null = null;

  constructor(form: HTMLFormElement, part: HTMLElement) {
    this.part = part;
    this.page = new PageText(form);
    this.log = part.querySelector(".panel__log")!;
    this.status = part.querySelector(".panel__status")!;
    this.prompt = part.querySelector("textarea")!;
    for (const button of part.querySelectorAll<HTMLButtonElement>("[data-ai-command]")) {
      button.addEventListener("click", () => void this.run(button.dataset.aiCommand!));
    }
    this.stopButton.addEventListener("click", () => this.request?.abort());
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.run("ask");
    });
  }

  open(): void {
    this.prompt.focus({ preventScroll: true });
  }

  close(): void {
    this.request?.abort();
  }

  private get stopButton(): HTMLButtonElement {
    return this.part.querySelector<HTMLButtonElement>("[data-ai-stop]")!;
  }

  private async run(command: string): Promise<void> {
    if (this.request) return;
    const instruction = INSTRUCTIONS[command] ?? this.prompt.value.trim();
    if (!instruction && command !== "continue") return this.prompt.focus();
    const request = (this.request = new AbortController());
    this.stopButton.hidden = false;
    this.status.textContent = text("Waiting for the suggestion …");
    try {
      if (command === "continue") await this.complete(request.signal);
      else if (command === "ask") await this.ask(instruction, request.signal);
      else await this.rewrite(instruction, request.signal);
      this.status.textContent = "";
    } catch (error) {
      const isOwn = error instanceof Error && !(error instanceof TypeError || error instanceof SyntaxError || error instanceof DOMException);
      this.status.textContent = request.signal.aborted ? "" : isOwn ? error.message : text("The service does not respond. Your text is still here.");
    }
    this.request = null;
    this.stopButton.hidden = true;
  }

  /** Suggest how the text goes on. */
  private async complete(signal: AbortSignal): Promise<void> {
    const instructions = "Continue the text in its language. Return only the continuation.";
    const result = await this.result("/api/ai/copilot", { prompt: this.page.value.slice(-MAX_COMPLETED) || " ", instructions }, signal);
    const continuation: string = result.text;
    this.add(create("p", { dir: "auto" }, continuation), [text("Insert at the cursor"), () => this.page.insert(continuation.replace(/\s*\n\s*/g, " "))]);
  }

  /** Suggest another text, and show the lines that differ. */
  private async rewrite(instruction: string, signal: AbortSignal): Promise<void> {
    const before = this.page.value;
    const result = await this.result("/api/ai/code-edit", { code: before, instruction, language: "markdown", path: this.part.dataset.path }, signal);
    const after: string = result.code;
    if (after === before) return void this.add(create("p", {}, text("No change is suggested.")));
    const accept = () => {
      // A text that was edited in the meantime is not replaced.
      if (this.page.value !== before) throw new Error(text("The text has changed. Ask for a new suggestion."));
      this.page.value = after;
      return () => (this.page.value = before);
    };
    this.add(difference(result.diff), [text("Use this text"), accept]);
  }

  private async ask(question: string, signal: AbortSignal): Promise<void> {
    this.prompt.value = "";
    this.add(create("p", { class: "panel__question", dir: "auto" }, question));
    const context = `The page ${this.part.dataset.path}:\n\n${this.page.value.slice(0, MAX_CONTEXT)}\n\n${question}`;
    const messages = [...this.messages, { role: "user", content: context }];
    const response = await post("/api/ai/chat", { projectId: this.part.dataset.project, messages }, signal, "text/event-stream");
    if (!response.ok) throw new Error((await response.json()).message);
    const shown = create("p", { class: "panel__answer", dir: "auto" });
    const card = this.add(shown);
    let answer = "";
    for await (const part of events<{ type: string; delta?: string; errorText?: string }>(response)) {
      if (part.type === "error") throw new Error(part.errorText);
      if (part.type !== "text-delta") continue;
      answer += part.delta;
      shown.textContent = answer;
      this.log.scrollTop = this.log.scrollHeight;
    }
    this.messages.push({ role: "user", content: question }, { role: "assistant", content: answer });
    this.addAction(card, text("Add to the end of the text"), () => {
      const before = this.page.value;
      this.page.value = `${before.trimEnd()}\n\n${answer.trim()}\n`;
      return () => (this.page.value = before);
    });
  }

  private async result(url: string, body: object, signal: AbortSignal): Promise<any> {
    const response = await post(url, body, signal, "application/json");
    const content = await response.json();
    if (!response.ok) throw new Error(content.message);
    return content.result ?? content;
  }

  private add(content: HTMLElement, ...actions: [string, () => unknown][]): HTMLElement {
    const card = create("div", { class: "panel__card" }, content);
    for (const [label, run] of actions) this.addAction(card, label, run);
    this.log.append(card);
    this.log.scrollTop = this.log.scrollHeight;
    return card;
  }

  /** Add a button. If its action can be undone, the button then undoes it. */
  private addAction(card: HTMLElement, label: string, run: () => unknown): void {
    let undo: (() => void) | null = null;
    const button = create("button", { type: "button", class: "button button--small", click: () => {
      try {
        if (undo) {
          undo();
          undo = null;
        } else {
          const result = run();
          undo = typeof result === "function" ? (result as () => void) : null;
        }
        button.textContent = undo ? text("Undo") : label;
      } catch (error) {
        this.status.textContent = (error as Error).message;
      }
    } }, label);
    card.append(button);
  }
}

/** Let the button at the text for the history ask for a suggestion. */
export function initMessageSuggestion(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>("[data-suggest-url]");
  const input = form.querySelector<HTMLInputElement>("#message");
  const output = form.querySelector<HTMLElement>("#message-status");
  if (!button || !input || !output) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    output.textContent = text("Waiting for the suggestion …");
    const fields = [...new FormData(form)].filter((pair): pair is [string, string] => typeof pair[1] === "string");
    try {
      const response = await fetch(button.dataset.suggestUrl!, { method: "POST", body: new URLSearchParams(fields), headers: { Accept: "application/json" } });
      const result = await response.json();
      output.textContent = response.ok ? "" : result.message;
      if (response.ok) {
        input.value = result.text.slice(0, input.maxLength);
        input.focus();
      }
    } catch {
      output.textContent = text("The service does not respond. Your text is still here.");
    }
    button.disabled = false;
  });
}

function post(url: string, body: object, signal: AbortSignal, accept: string): Promise<Response> {
  return fetch(url, { method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json", Accept: accept } });
}

/** Show the changed lines of a unified diff. */
function difference(diff: string): HTMLElement {
  const block = create("pre", { class: "source panel__diff", tabindex: "0", dir: "auto" });
  for (const line of diff.split("\n").filter((each) => !/^(diff|index|---|\+\+\+|\\)/.test(each))) {
    const name = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
    if (!line.startsWith("@@")) block.append(create(name, {}, `${line.slice(1)}\n`));
  }
  return block;
}
