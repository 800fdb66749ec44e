// Choices of an input with a list, and their search.

export interface Choice {
  value: string;
  title: string;
  /** A second text, for example the path. */
  detail?: string;
}

/** Return the entries whose title or value contains each word, those whose title starts with the text first. */
export function matching(titles: Iterable<[string, string]>, query: string): Choice[] {
  const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const found = [...titles].filter(([value, title]) => words.every((word) => `${title} ${value}`.toLocaleLowerCase().includes(word)));
  const isStart = ([, title]: [string, string]) => Number(title.toLocaleLowerCase().startsWith(query.toLocaleLowerCase()));
  return found.sort((a, b) => isStart(b) - isStart(a)).map(([value, title]) => ({ value, title, detail: title === value ? "" : value }));
}
