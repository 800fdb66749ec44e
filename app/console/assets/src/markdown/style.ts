// The notation of a file: markers, indentation and breaks. New nodes have no notation of their own and use that of the file.
import type { Node } from "prosemirror-model";

export interface Style {
  bullet: string;
  delimiter: string;
  /** Columns from a marker to the text of its item. 0 is the width of the marker and one space. */
  gap: number;
  /** White space before the markers of a nested list, or "" for the columns of the text above. */
  indent: string;
  hardBreak: string;
  em: string;
  strong: string;
  fence: string;
  isSetext: boolean;
}

const DEFAULT: Style = {
  bullet: "-",
  delimiter: ".",
  gap: 0,
  indent: "",
  // Every reader of Markdown knows two spaces. kramdown and Python-Markdown print a backslash.
  hardBreak: "  ",
  em: "*",
  strong: "**",
  fence: "```",
  isSetext: false,
};

/** Return the notation that the first node of each kind has. */
export function styleOf(nodes: Iterable<Node>): Style {
  const own: Partial<Style> = {};
  let hasHeading = false;
  const read = (node: Node, isNested: boolean): void => {
    const { attrs } = node;
    if (node.type.name === "bullet_list") {
      own.bullet ??= attrs.marker;
      own.gap ??= attrs.gap ?? undefined;
    }
    if (node.type.name === "ordered_list") own.delimiter ??= attrs.delimiter;
    if (isNested && attrs.indent) own.indent ??= attrs.indent;
    if (node.type.name === "hard_break") own.hardBreak ??= attrs.markup;
    if (node.type.name === "code_block" && attrs.fence) own.fence ??= attrs.fence;
    if (node.type.name === "heading" && attrs.level <= 2 && !hasHeading) {
      hasHeading = true;
      own.isSetext = Boolean(attrs.underline);
    }
    for (const mark of node.marks) {
      if (mark.type.name === "em" && !mark.attrs.markup?.startsWith("<")) own.em ??= mark.attrs.markup;
      if (mark.type.name === "strong" && !mark.attrs.markup?.startsWith("<")) own.strong ??= mark.attrs.markup;
    }
    node.forEach((child) => read(child, isNested || node.type.name === "list_item"));
  };
  for (const node of nodes) read(node, false);
  for (const name of Object.keys(own) as (keyof Style)[]) if (own[name] === undefined || own[name] === null) delete own[name];
  return { ...DEFAULT, ...own };
}
