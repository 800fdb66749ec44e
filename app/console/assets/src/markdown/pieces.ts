// Positions of inline Markdown in its source: which range of a text each part of a document comes from.
import type MarkdownIt from "markdown-it";

type Token = ReturnType<MarkdownIt["parse"]>[number];
type InlineState = Parameters<Parameters<MarkdownIt["inline"]["ruler2"]["push"]>[1]>[0];

/** A token and its range in the source. A mark has one piece where it opens and one where it closes. */
export interface Piece {
  token: Token;
  /** Its text, which later rules join with other texts. */
  text: string | null;
  from: number;
  to: number;
}

/** The state of the tokenizer before it reads the next construct. */
interface Step {
  position: number;
  end: number;
  tokens: number;
  pending: number;
}

/** Record the pieces of each text in `env.pieces` if that is a list, and the label of each link that has one in its token. */
export function recordPieces(md: MarkdownIt): void {
  const steps = new WeakMap<object, Step[]>();
  const isRecorded = ({ env }: InlineState) => Boolean(env.pieces || (env.references && Object.keys(env.references).length));
  md.inline.ruler.before("text", "steps", (state, silent) => {
    if (silent || !isRecorded(state)) return false;
    const known = steps.get(state) ?? [];
    known.push({ position: state.pos, end: state.posMax, tokens: state.tokens.length, pending: state.pending.length });
    if (known.length === 1) steps.set(state, known);
    return false;
  });
  // The next rule joins texts.
  md.inline.ruler2.before("fragments_join", "pieces", (state) => {
    if (!isRecorded(state)) return false;
    const pieces = piecesOf(state.tokens, steps.get(state) ?? [], state.src.length);
    labelLinks(pieces, state.src);
    if (state.env.pieces) state.env.pieces = pieces;
    return false;
  });
}

function piecesOf(tokens: Token[], steps: Step[], length: number): Piece[] {
  const pieces: Piece[] = [];
  let textStart = 0;
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1];
    const outer = next?.position ?? length;
    const end = Math.min(outer, step.end);
    const own = tokens.slice(step.tokens, next?.tokens ?? tokens.length);
    if (!step.pending) textStart = step.position;
    const isText = step.pending > 0 && own[0]?.type === "text";
    let at = isText ? textStart : step.position;
    for (const [count, token] of own.entries()) {
      // The label of a link has its own steps, which end before the link does.
      const isOuterEnd = token.type === "link_close" && step.end < outer;
      const from = isOuterEnd ? step.end : at;
      const to = isOuterEnd ? outer : Math.min(end, at + widthOf(token));
      pieces.push({ token, text: /^(?:text|text_special|code_inline)$/.test(token.type) ? token.content : null, from, to });
      at = isText && !count ? step.position : to;
    }
  }
  return pieces;
}

function widthOf(token: Token): number {
  if (token.type === "text") return token.content.length;
  if (token.type === "link_open") return 1;
  return /^(?:em|strong|s)_/.test(token.type) ? token.markup.length : Infinity;
}

/** Set the label of each reference link: what is between its last brackets, or its text. */
function labelLinks(pieces: Piece[], source: string): void {
  let open: Piece | null = null;
  for (const piece of pieces) {
    if (piece.token.type === "link_open") open = piece;
    const end = piece.token.type === "link_close" && source.slice(piece.from, piece.to);
    if (open && end && /^\](?!\()/.test(end)) open.token.meta = { label: end.slice(2, -1) || source.slice(open.to, piece.from) };
  }
}
