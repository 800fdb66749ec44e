// The channel to the page of an editable preview. Everything that the page sends is checked: it is the code of the site.

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface LoadedPage {
  type: "page";
  url: string;
  title: string;
  main: number[];
  numbers: number[];
  misplaced: number[];
}

export interface SelectedText {
  type: "select";
  numbers: number[];
  rect: Rect;
  text: string;
  href: string | null;
  /** The path of a file, or an empty text for that of the page, and a field of it. */
  source: { file: string; field: string } | null;
}

export type PageMessage = LoadedPage | SelectedText | { type: "move"; rect: Rect | null } | { type: "leave" };
export type ConsoleMessage = { type: "mode"; edit: boolean } | { type: "select"; number: number } | { type: "clear" };

const MAX_NUMBERS = 500;
const MAX_NUMBER = 4 ** 12;
const MAX_TEXT = 2000;
const MAX_PIXELS = 100_000;
/** The script of Galley sends at most two messages in each frame that the browser draws. */
const MAX_MESSAGES_PER_S = 1_000;
/** A page that loads counts as so many messages. */
const LOAD_MESSAGES = 50;

export class PageChannel {
  private readonly frame: HTMLIFrameElement;
  private readonly receive: (message: PageMessage) => void;
  private readonly connected: () => void;
  private readonly flooded: () => void;
  private port: MessagePort | null = null;
  private origin = "";
  private second = 0;
  private count = 0;

  /** `connected` is called after each load of a page, and `flooded` if a page sends without end. */
  constructor(frame: HTMLIFrameElement, receive: (message: PageMessage) => void, connected: () => void, flooded: () => void) {
    [this.frame, this.receive, this.connected, this.flooded] = [frame, receive, connected, flooded];
    window.addEventListener("message", (event) => this.connect(event));
  }

  /** Accept pages of the preview with an origin. */
  admit(origin: string): void {
    this.origin = origin;
  }

  send(message: ConsoleMessage): void {
    this.port?.postMessage(message);
  }

  /** Accept no further message of the page. */
  close(): void {
    this.port?.close();
    this.port = null;
    this.count = 0;
  }

  /** Return whether a message is within the limit. */
  private isWithinLimit(messages: number): boolean {
    const second = Math.floor(performance.now() / 1000);
    this.count = (second === this.second ? this.count : 0) + messages;
    this.second = second;
    if (this.count <= MAX_MESSAGES_PER_S) return true;
    this.flooded();
    return false;
  }

  private connect({ source, origin, data }: MessageEvent): void {
    // Messages of a page that was closed can arrive later.
    if ((source as Window | null)?.top !== window || origin === location.origin || !this.isWithinLimit(LOAD_MESSAGES)) return;
    if (!this.origin || source !== this.frame.contentWindow || origin !== this.origin || !isRecord(data) || data.galley !== "page") return;
    this.port?.close();
    const channel = new MessageChannel();
    const port = (this.port = channel.port1);
    port.onmessage = (event) => {
      const message = port === this.port && this.isWithinLimit(1) ? readMessage(event.data) : null;
      if (message) this.receive(message);
    };
    this.frame.contentWindow!.postMessage({ galley: "connect" }, this.origin, [channel.port2]);
    this.connected();
  }
}

/** Return a message of the page, or null if it is none. Long texts and lists are cut. */
export function readMessage(data: unknown): PageMessage | null {
  if (!isRecord(data)) return null;
  if (data.type === "leave") return { type: "leave" };
  if (data.type === "move") return { type: "move", rect: rectOf(data.rect) };
  if (data.type === "page") return { type: "page", url: textOf(data.url), title: textOf(data.title), main: numbersOf(data.main), numbers: numbersOf(data.numbers), misplaced: numbersOf(data.misplaced) };
  const rect = rectOf(data.rect);
  if (data.type !== "select" || !rect) return null;
  const source = isRecord(data.source) ? { file: textOf(data.source.file), field: textOf(data.source.field) } : null;
  return { type: "select", numbers: numbersOf(data.numbers), rect, text: textOf(data.text), href: textOf(data.href) || null, source: source?.field ? source : null };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : "";
}

function numbersOf(value: unknown): number[] {
  const numbers = Array.isArray(value) ? value.slice(0, MAX_NUMBERS) : [];
  return numbers.filter((one) => Number.isInteger(one) && one >= 0 && one < MAX_NUMBER);
}

function rectOf(value: unknown): Rect | null {
  if (!isRecord(value)) return null;
  const [x, y, width, height] = [value.x, value.y, value.width, value.height].map((one) => (typeof one === "number" && Number.isFinite(one) ? Math.min(Math.max(one, -MAX_PIXELS), MAX_PIXELS) : null));
  return x == null || y == null || width == null || height == null ? null : { x, y, width, height };
}

/** Return the letters and digits of a text. A generator changes quotation marks and spaces. */
export function plain(text: string): string {
  return text.normalize("NFKC").replace(/[^\p{L}\p{N}]+/gu, "");
}
