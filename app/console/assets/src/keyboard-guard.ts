// What a page of the site cannot do to the keyboard: take it from a person who types into the console. A page can focus itself at any time.

const TYPED = "input, textarea, select, [contenteditable], dialog, [role=dialog]";
/** The least time between a key and the click of a person in the page. */
const KEY_MS = 250;
/** The longest time between the press of a button in the page and the message about the click. */
const CLICK_MS = 1_000;
/** A page that takes the keyboard so often in a second is closed. A person clicks three times at most. */
const MAX_TAKES = 4;
const TAKES_MS = 1_000;
/** A page that takes the keyboard so often without a click is closed. */
const MAX_THEFTS = 3;
const TOUCH = matchMedia("(any-pointer: coarse)");

export class KeyboardGuard {
  private readonly frame: HTMLElement;
  private readonly panel: HTMLElement;
  private readonly stolen: () => void;
  /** The control of the console that has the focus, or had it until the page took it. */
  private control: HTMLElement | null = null;
  private keyAt = -Infinity;
  private isTab = false;
  private clickedAt = -Infinity;
  private takes: number[] = [];
  private thefts = 0;

  /** `stolen` is called if the page takes the keyboard again and again. It removes the frame: a hidden one can still take it. */
  constructor(frame: HTMLElement, panel: HTMLElement, stolen: () => void) {
    [this.frame, this.panel, this.stolen] = [frame, panel, stolen];
    document.addEventListener("focusin", ({ target }) => {
      if (target !== frame) this.control = target instanceof HTMLElement && target.closest(TYPED) ? target : null;
    });
    document.addEventListener("keydown", ({ key }) => [this.keyAt, this.isTab] = [performance.now(), key === "Tab"], true);
    window.addEventListener("blur", () => this.blur());
  }

  /** Return whether a message of the page can be the result of a click or key of a person in the page. */
  get isPageUsed(): boolean {
    return !this.isHeld || (performance.now() - this.clickedAt < CLICK_MS && this.keyAt < this.clickedAt);
  }

  private get isHeld(): boolean {
    return this.control?.checkVisibility() ?? false;
  }

  /** The frame can have the focus from now on. A click in the page and the key Tab give it to the frame, and the page itself can take it. */
  private blur(): void {
    if (document.activeElement !== this.frame || !this.isHeld) return;
    const now = performance.now();
    const isTab = this.isTab && now - this.keyAt < KEY_MS;
    const isClick = now - this.keyAt > KEY_MS && (TOUCH.matches || this.frame.matches(":hover"));
    if (isTab || (isClick && !this.panel.contains(this.control))) {
      this.control = null;
      return;
    }
    if (isClick) this.clickedAt = now;
    else this.thefts++;
    this.takes = [...this.takes.filter((at) => at > now - TAKES_MS), now];
    if (this.takes.length >= MAX_TAKES || this.thefts >= MAX_THEFTS) {
      [this.takes, this.thefts] = [[], 0];
      this.stolen();
    }
    const { control } = this;
    // Chromium ignores a focus within the event.
    setTimeout(() => this.restore(control!));
  }

  /** An open panel has the keyboard, also after a click in the page. */
  private restore(control: HTMLElement): void {
    if (this.control !== control || !this.isHeld) return;
    window.focus();
    control.focus();
  }
}
