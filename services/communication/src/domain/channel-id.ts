const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * 10 random characters, an underscore, then the creation time in milliseconds (specification API 3).
 * `randomBelow(n)` draws a whole number from 0 to n - 1.
 */
export function channelId(createdAtMs: number, randomBelow: (n: number) => number): string {
  const letters = Array.from({ length: 10 }, () => alphabet[randomBelow(alphabet.length)]);
  return `${letters.join('')}_${createdAtMs}`;
}
