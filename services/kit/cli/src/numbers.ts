import { InvalidArgumentError } from 'commander';

/** Returns a parser for commander: a whole number from `least` to `most`. */
export function wholeNumber(least = 0, most = 999_999_999): (text: string) => number {
  return (text) => {
    const n = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (n >= least && n <= most) return n;
    throw new InvalidArgumentError(`It is not a whole number from ${least} to ${most}.`);
  };
}
