/**
 * End of a page in a list of groups. `name`: the last group. `number`: the last number read in it; 0: all were read.
 */
export interface PagePosition {
  readonly number: number;
  readonly name: string;
}

/** Parses `after` of a call, which is `next` of the previous answer; an empty text means the beginning. */
export function parsePagePosition(after: string): PagePosition {
  const cut = after.indexOf(' ');
  return cut < 0
    ? { number: 0, name: '' }
    : { number: Number(after.slice(0, cut)), name: after.slice(cut + 1) };
}

export function formatPagePosition({ number, name }: PagePosition): string {
  return `${number} ${name}`;
}
