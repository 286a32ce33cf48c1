/** End of a page: the name of the group, and the last number read; 0 if the whole group was read. */
export interface Place {
  readonly number: number;
  readonly name: string;
}

/** Parses `after` of a call, which is `next` of the answer before; an empty text means the beginning. */
export function placeOf(after: string): Place {
  const cut = after.indexOf(' ');
  return cut < 0
    ? { number: 0, name: '' }
    : { number: Number(after.slice(0, cut)), name: after.slice(cut + 1) };
}

export function placeText({ number, name }: Place): string {
  return `${number} ${name}`;
}
