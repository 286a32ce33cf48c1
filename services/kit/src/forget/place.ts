/** Where a page ends: the last number read of a group, 0 for all of it, and the group's name. */
export interface Place {
  readonly number: number;
  readonly name: string;
}

/** As `next` of an answer and `after` of the next call; an empty text is before every group. */
export function placeOf(after: string): Place {
  const cut = after.indexOf(' ');
  return cut < 0
    ? { number: 0, name: '' }
    : { number: Number(after.slice(0, cut)), name: after.slice(cut + 1) };
}

export function placeText({ number, name }: Place): string {
  return `${number} ${name}`;
}
