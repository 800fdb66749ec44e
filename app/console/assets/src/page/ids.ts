// Names of elements that were derived from marked texts, and the links and attributes that refer to them.
import { cleanText, mayHaveMarks, type NumberRange } from "./marks.ts";

/** Attributes with names of elements, separated by spaces. */
export const REFERENCES = new Set(["id", "name", "for", "form", "headers", "list", "popovertarget", "commandfor", "usemap"]);
const ARIA_REFERENCES = /^aria-(?:activedescendant|controls|describedby|details|errormessage|flowto|labelledby|owns)$/;

export function isReference(attribute: string): boolean {
  return REFERENCES.has(attribute) || ARIA_REFERENCES.test(attribute);
}

/** The names without marks. Two names that differ by their marks only stay different. */
export class Names {
  private readonly restored = new Map<string, string>();
  private readonly used = new Set<string>();
  private readonly suffixes = new Map<string, number>();
  private readonly range: NumberRange;
  private readonly isTaken: (name: string) => boolean;

  constructor(range: NumberRange, isTaken: (name: string) => boolean) {
    this.range = range;
    this.isTaken = isTaken;
  }

  /** Return the value of an attribute with names in which each marked name is replaced. */
  restoreAll(value: string): string {
    return value.split(/(\s+)/).map((name) => (mayHaveMarks(name) ? this.restore(name) : name)).join("");
  }

  /** Return the fragment of a link to this page, without `#`. */
  restoreFragment(fragment: string): string {
    try {
      const name = decodeURIComponent(fragment);
      const restored = this.restore(name);
      return fragment === name ? restored : encodeURIComponent(restored);
    } catch {
      return cleanText(fragment, this.range).text;
    }
  }

  /** Return whether this name had a mark. */
  isRestored(name: string): boolean {
    return this.used.has(name);
  }

  private restore(name: string): string {
    const known = this.restored.get(name);
    if (known !== undefined) return known;
    const plain = cleanText(name, this.range).text;
    if (plain === name) return name;
    let suffix = this.suffixes.get(plain) ?? 0;
    let free = suffix ? `${plain}-${suffix}` : plain;
    while (this.used.has(free) || this.isTaken(free)) free = `${plain}-${++suffix}`;
    this.suffixes.set(plain, suffix);
    this.used.add(free);
    this.restored.set(name, free);
    return free;
  }
}
