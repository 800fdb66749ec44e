// What a page of the site cannot do to the panel over it: move it below a click that was meant for the page.
export class PanelGuard {
  private readonly panel: HTMLElement;
  private isReached = false;

  constructor(panel: HTMLElement) {
    this.panel = panel;
    panel.addEventListener("pointermove", () => (this.isReached = true));
    panel.addEventListener("click", (event) => this.isReached || (event as PointerEvent).pointerType !== "mouse" || stop(event), true);
  }

  /** The panel moved or ended. It takes clicks of a pointer that moves over it. */
  moved(): void {
    this.isReached = false;
  }

  /** Return whether a person points at the panel: then it does not move. */
  get isPointedAt(): boolean {
    return this.isReached && this.panel.matches(":hover");
  }
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}
