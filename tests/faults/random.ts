/** Reproducible random numbers. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns a whole number; both bounds are inclusive. */
  between(least: number, most: number): number;
  pick<T>(list: readonly T[]): T;
  chance(share: number): boolean;
  shuffled<T>(list: readonly T[]): T[];
}

/** mulberry32. Each seed and name give a separate stream. */
export function createRandom(seed: number, name: string): Random {
  let state = seed >>> 0;
  for (const char of name) state = Math.imul(state ^ char.charCodeAt(0), 0x01000193) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const random: Random = {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (list) => {
      if (list.length === 0) throw new Error('nothing to pick from');
      return list[Math.floor(next() * list.length)] as (typeof list)[number];
    },
    chance: (share) => next() < share,
    shuffled: (list) => {
      const out = [...list];
      for (let i = out.length - 1; i > 0; i--) {
        const j = random.between(0, i);
        [out[i], out[j]] = [out[j] as never, out[i] as never];
      }
      return out;
    },
  };
  return random;
}
