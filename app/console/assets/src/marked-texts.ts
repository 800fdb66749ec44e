// The texts of the site that source marks name. The service knows them by their numbers.

/** A text of the site: the version of its file, and a pointer to a value or the index of a block. Attributes of the site name no version. */
export interface MarkedText {
  number: number;
  path: string;
  blob_sha: string;
  pointer: string | null;
  block: number | null;
  part: string;
  title: string;
  list: string;
  edit: string;
  text_url: string;
  /** The number of marks of this version of the file. */
  marks: number;
}

/** A page can send numbers without end. After these, those that the service does not know are not looked up. */
const MAX_UNKNOWN = 5_000;
/** The service leaves out as many. */
const MAX_REPORTED = 1_000;

export class MarkedTexts {
  private readonly url: string;
  private readonly texts = new Map<number, MarkedText | null>();
  private readonly reported = new Set<number>();
  private unknown = 0;

  constructor(url: string) {
    this.url = url;
  }

  /** Return the texts of numbers that the service knows. */
  async find(numbers: number[]): Promise<MarkedText[]> {
    const unknown = numbers.filter((number) => !this.texts.has(number));
    if (unknown.length && this.unknown < MAX_UNKNOWN) {
      const response = await fetch(`${this.url}?numbers=${unknown}`, { headers: { Accept: "application/json" } }).catch(() => null);
      const found: MarkedText[] = response?.ok ? (await response.json()).marks : [];
      if (response?.ok) for (const number of unknown) this.texts.set(number, null);
      for (const one of found) this.texts.set(one.number, one);
      this.unknown += unknown.length - found.length;
    }
    return numbers.flatMap((number) => this.texts.get(number) ?? []);
  }

  /** Return the field that attributes of the site name. `entry` is the file of the page. */
  async findField({ file, field }: { file: string; field: string }, entry: string): Promise<MarkedText[]> {
    const query = new URLSearchParams({ file: file || entry, field });
    const response = await fetch(`${this.url.replace(/marks$/, "field")}?${query}`, { headers: { Accept: "application/json" } }).catch(() => null);
    return response?.ok ? (await response.json()).marks : [];
  }

  /** Name marks outside of texts. The next start of the preview leaves them out. */
  report(misplaced: number[]): void {
    const numbers = misplaced.filter((number) => !this.reported.has(number)).slice(0, MAX_REPORTED - this.reported.size);
    if (!numbers.length) return;
    for (const number of numbers) this.reported.add(number);
    const body = new URLSearchParams({ numbers: String(numbers) });
    void fetch(this.url.replace(/marks$/, "misplaced"), { method: "POST", body }).catch(() => null);
  }
}

/** Return whether two versions of a file have a text at the same position. */
export function isSameText(one: MarkedText, other: MarkedText): boolean {
  return one.path === other.path && one.pointer === other.pointer && one.block === other.block;
}

/** Return a text of the file with the most texts, or none if several files have as many. Values can be those of a list of other pages. */
export function mostOf(texts: MarkedText[]): MarkedText | undefined {
  const blocks = texts.filter(({ block }) => block !== null);
  const counts = new Map<string, number>();
  for (const { path } of blocks.length ? blocks : texts) counts.set(path, (counts.get(path) ?? 0) + 1);
  const [most, next] = [...counts].sort((one, other) => other[1] - one[1]);
  return most?.[1] === next?.[1] ? undefined : texts.find(({ path }) => path === most?.[0]);
}
