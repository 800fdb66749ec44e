// Components and shortcodes that are one block: their name, and their attributes with the position of each value in the source.
import MarkdownIt from "markdown-it";

/**
 * The form of a value. `bare` has no quotes. `inner` is the text between two tags. `code` is an expression, a variable or a value
 * that dialects read differently, and `flag` a name without a value: both are shown and never written.
 */
export type Notation = "double" | "single" | "backtick" | "bare" | "inner" | "code" | "flag";

export interface Field {
  /** "" for a value without a name, and for an inner text. */
  name: string;
  /** The decoded value with line feeds. For `code` it is the source. */
  value: string;
  /** The range of the value in the source, with its quotes. */
  start: number;
  end: number;
  notation: Notation;
}

type Dialect = "hugo" | "liquid" | "jsx";

export interface Card {
  name: string;
  dialect: Dialect;
  /** Whether the card is a closing tag only. */
  isEnd: boolean;
  fields: Field[];
}

const MAX_LENGTH = 20_000;
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n))[ \t]*[\r\n]/;
/** Tags that control templates. Their parts are no attributes. */
const CONTROL = /^(?:end)?(?:if|unless|for|case|capture|raw|comment|block|macro|call|filter|set|with|autoescape|highlight|liquid|tablerow|style|schema|javascript|verbatim)$|^(?:else|elsif|elif|when|assign|increment|decrement|cycle|break|continue|extends|import|from|do)$/;
const INCLUDE = /^(?:include|include_relative|include_cached|render)$/;
/** Elements of HTML that old pages write in capitals. */
const CAPITALS = /^(?:A|B|BLOCKQUOTE|BR|CENTER|CODE|DIV|EM|FONT|FORM|H[1-6]|HR|I|IFRAME|IMG|INPUT|LI|OBJECT|OL|P|PRE|SCRIPT|SPAN|STRONG|STYLE|TABLE|TBODY|TD|TH|THEAD|TR|U|UL|VIDEO)$/;
/** Attributes whose quoted values are code: those of Vue and Alpine. */
const BINDING = /^(?:[:@#]|v-|x-)/;
const LITERAL = /^(?:-?\d+(?:\.\d+)?|true|false)$/i;

const { unescapeAll } = new MarkdownIt().utils;

/** Return the name and the fields of a block, or null if it is not exactly one component, one shortcode, or one of their tags. */
export function readCard(source: string): Card | null {
  const text = source.trim();
  if (source.length > MAX_LENGTH || BLANK_LINE.test(text)) return null;
  const reader = new CardReader(source);
  if (text.startsWith("{{")) return reader.hugo();
  if (text.startsWith("{%")) return reader.liquid();
  return text.startsWith("<") ? reader.jsx() : null;
}

/** Return a source in which only one value differs and which is read with exactly this value, or null if there is no form for it. */
export function setField(source: string, index: number, value: string, lineEnd = "\n"): string | null {
  const card = readCard(source);
  const field = card?.fields[index];
  if (!card || !field) return null;
  if (value === field.value) return source;
  const ownLineEnd = /\r\n?|\n/.exec(source)?.[0] ?? lineEnd;
  for (const form of formsOf(card.dialect, field, value, source)) {
    const edited = source.slice(0, field.start) + form.text.replaceAll("\n", ownLineEnd) + source.slice(field.end + (form.removed ?? 0));
    if (isSame(card, readCard(edited), index, value)) return edited;
  }
  return null;
}

/** Return a name as words: "read-more" and "ReadMore" are "Read more". */
export function readableName(name: string): string {
  const spaced = name.replace(/[\p{Ll}\d](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, "$& ").replace(/[-_./:@#$]+/g, " ").trim();
  const words = spaced.split(" ").map((word) => (/^\p{Lu}{2,}s?$/u.test(word) ? word : word.toLowerCase()));
  const [first = "", ...others] = words;
  return [first.charAt(0).toUpperCase() + first.slice(1), ...others].join(" ") || name;
}

function isSame(before: Card, after: Card | null, index: number, value: string): boolean {
  if (!after || after.name !== before.name || after.isEnd !== before.isEnd || after.fields.length !== before.fields.length) return false;
  return after.fields.every((field, i) => {
    const old = before.fields[i]!;
    if (field.name !== old.name) return false;
    return i === index ? field.value === value && !isReadOnly(field) : field.value === old.value && field.notation === old.notation;
  });
}

/** Return whether a field is shown but cannot be written. */
export function isReadOnly(field: Field): boolean {
  return field.notation === "code" || field.notation === "flag";
}

interface Form {
  text: string;
  /** Characters after the value that the form does without. */
  removed?: number;
}

/** Return the forms of a value, the present notation first. The caller reads the result again, so a form need not be valid. */
function formsOf(dialect: Dialect, { notation, start, end }: Field, value: string, source: string): Form[] {
  if (notation === "code" || notation === "flag") return [];
  if (notation === "inner") {
    // An inner text on lines of its own, between the line ends of the tags: an empty one needs a single line end.
    const isOnOwnLine = start === end && /[\r\n]$/.test(source.slice(0, start)) && !/^[\r\n]/.test(source.slice(end));
    const tail = /^(?:\r\n?|\n)/.exec(source.slice(end))?.[0].length ?? 0;
    return [{ text: isOnOwnLine ? `${value}\n` : value }, ...(value ? [] : [{ text: "", removed: tail }])];
  }
  const quotes: Record<Dialect, [Notation, string][]> = {
    hugo: [["double", `"${value.replaceAll('"', '\\"')}"`], ["backtick", `\`${value}\``]],
    liquid: [["double", `"${value}"`], ["single", `'${value}'`]],
    jsx: [["double", `"${entities(value, '"', "&quot;")}"`], ["single", `'${entities(value, "'", "&#39;")}'`]],
  };
  const forms = quotes[dialect].sort(([first], [second]) => Number(second === notation) - Number(first === notation));
  return [...(notation === "bare" ? [{ text: value }] : []), ...forms.map(([, text]) => ({ text }))];
}

/** Escape a quote, and ampersands that could start an entity. In a query (`&name=`) an ampersand does not. */
function entities(value: string, quote: string, entity: string): string {
  return value.replace(/&(?=#?\w+(?![\w=]))/g, "&amp;").replaceAll(quote, entity);
}

function lineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** A reader that goes through the source once. Each pattern is sticky and consumes what it matches. */
class CardReader {
  private readonly source: string;
  private readonly fields: Field[] = [];
  private at = 0;

  constructor(source: string) {
    this.source = source;
    this.take(/\s*/y);
  }

  hugo(): Card | null {
    const open = this.take(/\{\{[<%]/y);
    if (!open) return null;
    const close = open[2] === "<" ? />\}\}/y : /%\}\}/y;
    this.take(/\s*/y);
    const isEnd = this.take(/\/\s*/y) !== null;
    const name = this.take(/[\p{L}\p{N}_][\p{L}\p{N}_/-]*/yu);
    if (!name || name.endsWith("/")) return null;
    let isClosed = isEnd;
    for (;;) {
      const space = this.take(/\s*/y);
      if (this.take(close)) break;
      if (isEnd || !space) return null;
      if (this.take(/\//y)) {
        isClosed = true;
        this.take(/\s*/y);
        if (!this.take(close)) return null;
        break;
      }
      const attribute = this.take(/[\p{L}\p{N}_-]+=/yu);
      if (attribute) this.take(/\s*/y);
      if (!this.hugoValue(attribute?.slice(0, -1) ?? "")) return null;
    }
    return this.finish({ name, dialect: "hugo", isEnd }, isClosed, /\{\{[<%]/g, () => {
      if (!this.take(open[2] === "<" ? /\{\{</y : /\{\{%/y)) return false;
      this.take(/\s*/y);
      if (!this.take(/\//y)) return false;
      this.take(/\s*/y);
      return this.takeText(name) && (this.take(/\s*/y), this.take(close) !== null);
    });
  }

  private hugoValue(name: string): boolean {
    const start = this.at;
    // A backslash escapes a quote and nothing else.
    const double = this.take(/"(?:[^"\\\r\n]|\\"|\\(?!["`]))*"/y);
    if (double) {
      const inner = double.slice(1, -1);
      // Releases of Hugo differ in the other backslashes of a value with an escaped quote.
      const isPlain = !inner.includes('\\"') || !inner.replaceAll('\\"', "").includes("\\");
      return this.add(name, start, isPlain ? "double" : "code", isPlain ? inner.replaceAll('\\"', '"') : double);
    }
    const backtick = this.take(/`[^`]*`/y);
    if (backtick) return this.add(name, start, "backtick", backtick.slice(1, -1));
    // A slash without a name closes the shortcode.
    const bare = this.take(name ? /[\p{L}\p{N}_./-]+/yu : /[\p{L}\p{N}_.-]+/yu);
    if (!bare || (bare.endsWith("/") && /[>%]/.test(this.source[this.at]!))) return false;
    return this.add(name, start, "bare", bare);
  }

  liquid(): Card | null {
    const end = this.source.indexOf("%}");
    this.take(/\{%[-+]?/y);
    this.take(/\s*/y);
    const tag = this.take(/[A-Za-z_][\w-]*/y);
    if (!tag || CONTROL.test(tag)) return null;
    const isEnd = /^end[a-z_]/.test(tag);
    let name = isEnd ? tag.slice(3).replace(/^_/, "") : tag;
    if (INCLUDE.test(tag)) {
      this.take(/\s*/y);
      const file = this.take(/"[^"\\]*"|'[^'\\]*'|[^\s,"'|%{}=:]+/y);
      const stem = file?.replace(/^["']|["']$/g, "").split("/").at(-1)!.replace(/\.[^.]*$/, "");
      if (!stem) return null;
      name = stem;
    }
    while (!this.take(/[-+]?%\}/y)) {
      const space = this.take(/[\s,]*/y);
      if (this.take(/[-+]?%\}/y)) break;
      if (isEnd || !space) return null;
      const attribute = this.take(/[\w-]+\s*[=:]/y);
      if (attribute) this.take(/\s*/y);
      if (!this.liquidValue(attribute?.slice(0, -1).trimEnd() ?? "")) return null;
    }
    if (this.at !== end + 2) return null; // A tag of Liquid ends at the first `%}`, also inside of quotes.
    return this.finish({ name, dialect: "liquid", isEnd }, isEnd || INCLUDE.test(tag), /\{[{%]/g, () => {
      if (!this.take(/\{%[-+]?/y)) return false;
      this.take(/\s*/y);
      if (!this.takeText(`end${tag}`)) return false;
      this.take(/\s*/y);
      return this.take(/[-+]?%\}/y) !== null;
    });
  }

  private liquidValue(name: string): boolean {
    const start = this.at;
    const quoted = this.take(/"[^"]*"|'[^']*'/y);
    if (quoted) {
      // Jekyll and Jinja read backslashes, Liquid does not.
      if (/[\\\r\n]/.test(quoted)) return this.add(name, start, "code", quoted);
      return this.add(name, start, quoted.startsWith('"') ? "double" : "single", quoted.slice(1, -1));
    }
    const bare = this.take(/[^\s,"'=:|%{}()<>]+/y);
    return bare !== null && this.add(name, start, LITERAL.test(bare) ? "bare" : "code", bare);
  }

  jsx(): Card | null {
    const isEnd = this.take(/<\/?/y) === "</";
    const name = this.take(/[A-Za-z][\w.-]*/y);
    if (!name || !/^[A-Z]|[.-]/.test(name) || CAPITALS.test(name)) return null;
    let isClosed = isEnd;
    for (;;) {
      const space = this.take(/\s*/y);
      const end = this.take(/\/?>/y);
      if (end) {
        isClosed ||= end === "/>";
        break;
      }
      if (isEnd || !space || !this.jsxAttribute()) return null;
    }
    return this.finish({ name, dialect: "jsx", isEnd }, isClosed, /[<{}]/g, () => {
      if (!this.take(/<\//y) || !this.takeText(name)) return false;
      this.take(/\s*/y);
      return this.take(/>/y) !== null;
    });
  }

  private jsxAttribute(): boolean {
    let start = this.at;
    if (this.source[start] === "{") return this.expression() && this.add("", start, "code");
    const name = this.take(/[^\s"'<>/={}`]+/y);
    if (!name) return false;
    if (!this.take(/\s*=/y)) return this.add(name, start, "flag");
    this.take(/\s*/y);
    start = this.at;
    if (this.source[start] === "{") return this.expression() && this.add(name, start, "code");
    const quoted = this.take(/"[^"]*"|'[^']*'/y);
    if (quoted) {
      // Compilers of JSX differ in line ends.
      if (BINDING.test(name) || /[\r\n]/.test(quoted)) return this.add(name, start, "code", quoted);
      const value = unescapeAll(quoted.slice(1, -1).replaceAll("\\", "\\\\"));
      return this.add(name, start, quoted.startsWith('"') ? "double" : "single", value);
    }
    const bare = this.take(/[^\s"'=<>`{}]+/y);
    if (!bare || bare.includes("&") || (bare.endsWith("/") && this.source[this.at] === ">")) return false;
    return this.add(name, start, BINDING.test(name) ? "code" : "bare", bare);
  }

  /** Read an expression in braces. A slash outside of strings can start a comment, a pattern or an element: it is not read. */
  private expression(): boolean {
    const open: string[] = [];
    do {
      if (open.at(-1) === "`") {
        this.take(/(?:[^`\\$]|\\[^]|\$(?!\{))*/y);
        const end = this.take(/`|\$\{/y);
        if (!end) return false;
        if (end === "`") open.pop();
        else open.push("{");
        continue;
      }
      this.take(/[^{}"'`/]*/y);
      if (this.take(/"(?:[^"\\\r\n]|\\[^])*"|'(?:[^'\\\r\n]|\\[^])*'/y)) continue;
      const character = this.take(/[{}`]/y);
      if (!character) return false;
      if (character === "}") open.pop();
      else open.push(character);
    } while (open.length);
    return true;
  }

  /** Read what follows the first tag: nothing, or an inner text that ends before the pattern `next`, and the closing tag. */
  private finish(card: Omit<Card, "fields">, isClosed: boolean, next: RegExp, close: () => boolean): Card | null {
    const start = this.at;
    this.take(/\s*/y);
    if (this.at === this.source.length) return { ...card, fields: this.fields };
    if (isClosed) return null;
    next.lastIndex = start;
    const end = next.exec(this.source)?.index;
    if (end === undefined) return null;
    this.at = end;
    if (!close()) return null;
    this.take(/\s*/y);
    if (this.at < this.source.length) return null;
    const inner = this.source.slice(start, end);
    const lead = /^[ \t]*(?:\r\n?|\n)/.exec(inner)?.[0] ?? "";
    const text = inner.slice(lead.length);
    const tail = lead && !/[^ \t]/.test(text) ? text : (/(?:\r\n?|\n)[ \t]*$/.exec(text)?.[0] ?? "");
    const range = { start: start + lead.length, end: end - tail.length };
    this.fields.push({ name: "", value: lineFeeds(this.source.slice(range.start, range.end)), ...range, notation: "inner" });
    return { ...card, fields: this.fields };
  }

  private add(name: string, start: number, notation: Notation, value = this.source.slice(start, this.at)): true {
    this.fields.push({ name, value: lineFeeds(value), start, end: this.at, notation });
    return true;
  }

  /** Consume and return what a sticky pattern matches here, or return null. */
  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.source);
    if (!match) return null;
    this.at = pattern.lastIndex;
    return match[0];
  }

  private takeText(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }
}
