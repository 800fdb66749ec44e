// Outlines of elements above the page, in the top layer. They take no clicks, and no style of the page applies to them.
const STYLE = `
:host { all: initial !important; position: fixed !important; inset: 0 !important; display: block !important; width: auto !important; height: auto !important; margin: 0 !important;
  border: 0 !important; padding: 0 !important; background: none !important; overflow: visible !important; pointer-events: none !important; }
div { position: fixed; box-sizing: border-box; border-radius: 3px; pointer-events: none; outline: 2px solid #1d4ed8; outline-offset: 2px; box-shadow: 0 0 0 5px rgb(255 255 255 / .75); }
div[hidden] { display: none; }
.pointer { outline-style: dashed; }
.selected { outline-width: 3px; }
@media (forced-colors: active) { div { outline-color: Highlight; } }`;

export type Purpose = "pointer" | "focus" | "selected";
export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Return the area of an element in pixels of the frame. An element without a box has the area of its content. */
export function areaOf(element: Element): Area {
  let area = element.getBoundingClientRect();
  if (!area.width && !area.height) {
    const range = document.createRange();
    range.selectNodeContents(element);
    area = range.getBoundingClientRect();
  }
  const { x, y, width, height } = area;
  return { x, y, width, height };
}

const nextFrame = window.requestAnimationFrame.bind(window);

export class Outlines {
  private readonly host = document.createElement("div");
  private readonly boxes = new Map<Purpose, HTMLElement>();
  private readonly targets = new Map<Purpose, Element>();
  private readonly onFrame: () => void;
  private frame = 0;

  /** `onFrame` is called in each frame in which an element has an outline. */
  constructor(onFrame: () => void) {
    this.onFrame = onFrame;
    const root = this.host.attachShadow({ mode: "closed" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    for (const purpose of ["pointer", "focus", "selected"] as const) {
      const box = document.createElement("div");
      box.className = purpose;
      box.hidden = true;
      this.boxes.set(purpose, box);
      root.append(box);
    }
    this.host.popover = "manual";
    this.host.ariaHidden = "true";
  }

  target(purpose: Purpose): Element | undefined {
    return this.targets.get(purpose);
  }

  show(purpose: Purpose, element: Element | null): void {
    if (this.targets.get(purpose) === (element ?? undefined)) return;
    if (element) this.targets.set(purpose, element);
    else this.targets.delete(purpose);
    if (element) this.raise();
    this.draw();
  }

  /** Move the outlines above dialogs that the page has opened, and back into a page that replaced its content. */
  private raise(): void {
    if (!this.host.isConnected) document.documentElement.append(this.host);
    else if (document.querySelector(":modal")) this.host.hidePopover?.();
    if (!this.host.matches(":popover-open")) this.host.showPopover?.();
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    for (const [purpose, box] of this.boxes) {
      const element = this.targets.get(purpose);
      if (element && !element.isConnected && purpose !== "selected") this.targets.delete(purpose);
      const { x, y, width, height } = element?.isConnected ? areaOf(element) : { x: 0, y: 0, width: 0, height: 0 };
      box.hidden = !width && !height;
      const place = { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` } as const;
      for (const name of ["left", "top", "width", "height"] as const) if (box.style[name] !== place[name]) box.style[name] = place[name];
    }
    this.onFrame();
    if (this.targets.size) this.frame = nextFrame(() => this.draw());
  }
}
