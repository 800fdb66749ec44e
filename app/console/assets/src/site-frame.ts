// The frame of the site: the address of the page that it shows, and the pages before and after it.

/** Most sites build a text within this time. */
const BUILD_MS = 1000;

export class SiteFrame {
  readonly frame: HTMLIFrameElement;
  private readonly root: HTMLElement;
  private readonly path: HTMLInputElement;
  private readonly notice: HTMLElement;
  private readonly urls: string[] = [];
  private at = -1;
  private address = "";
  private timer = 0;

  constructor(root: HTMLElement) {
    this.root = root;
    this.frame = root.querySelector("iframe")!;
    this.path = root.querySelector("#site-path")!;
    this.notice = root.querySelector("[data-site-closed]")!;
    this.button("back").addEventListener("click", () => this.go(this.at - 1));
    this.button("forward").addEventListener("click", () => this.go(this.at + 1));
    for (const button of [this.button("reload"), this.notice.querySelector("button")!]) button.addEventListener("click", () => this.load(this.url ?? this.path.value));
    this.path.addEventListener("change", () => this.load(this.path.value));
  }

  get origin(): string {
    return new URL(this.address).origin;
  }

  /** Show a preview: the page of the former, or that of a path. */
  open(address: string, path: string): void {
    this.address = address;
    this.load(this.url || path);
  }

  end(): void {
    this.address = "";
  }

  /** Show a page of the site. */
  load(path: string): void {
    clearTimeout(this.timer);
    if (!this.address) return;
    const own = new URL(this.address);
    const url = URL.canParse(path, own.origin) ? new URL(path, own.origin) : own;
    if (url.origin !== own.origin) return;
    url.search = [url.search.slice(1), own.search.slice(1)].filter(Boolean).join("&");
    this.frame.src = url.href;
    if (!this.frame.isConnected) this.notice.before(this.frame);
    this.notice.hidden = true;
  }

  /** Close a page that disturbs the console. Only a person shows it again. */
  close(reason: string): void {
    this.frame.remove();
    this.notice.querySelector("p")!.textContent = reason;
    this.notice.hidden = false;
  }

  /** Load the page when the site has built its texts. */
  loadLater(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.frame.isConnected && this.load(this.url ?? "/"), BUILD_MS);
  }

  /** Show the address of a page that has loaded. */
  follow(url: string): void {
    if (url !== this.url) {
      this.urls.splice(++this.at, this.urls.length, url);
      const own = new URL(location.href);
      own.search = new URLSearchParams({ at: url }).toString();
      history.replaceState(history.state, "", own);
    }
    if (document.activeElement !== this.path) this.path.value = url;
    this.button("back").setAttribute("aria-disabled", String(this.at <= 0));
    this.button("forward").setAttribute("aria-disabled", String(this.at >= this.urls.length - 1));
  }

  /** Return the path of a link to a page of the site, or null for other links. */
  pathOf(href: string | null): string | null {
    const target = href && URL.canParse(href, this.address) ? new URL(href, this.address) : null;
    return target?.origin === this.origin ? target.pathname + target.search + target.hash : null;
  }

  private go(at: number): void {
    if (!this.urls[at]) return;
    this.at = at;
    this.load(this.urls[at]);
  }

  private get url(): string | undefined {
    return this.urls[this.at];
  }

  private button(name: string): HTMLElement {
    return this.root.querySelector<HTMLElement>(`[data-site-${name}]`)!;
  }
}
