/** Limits: running at once, waiting in all, waiting of one owner. */
export interface SlotLimits {
  readonly atOnce: number;
  readonly waiting: number;
  readonly waitingOfOne: number;
}

export interface Slots {
  /**
   * Waits for a slot. Returns a function that frees it, or undefined if the queue is full. Throws when the signal
   * aborts. The owner with the fewest slots is next. Among owners with equally many, the owner whose last slot was given
   * first is next.
   */
  take(owner: string, signal: AbortSignal): Promise<(() => void) | undefined>;
  taken(): number;
  waiting(): number;
}

interface Waiting {
  readonly owner: string;
  readonly give: (free: () => void) => void;
}

/**
 * Shares slots among owners. If there are several slots, one owner gets at most all but one. So one owner alone never
 * makes others wait. Waiting owners take turns.
 */
export function createSlots(limits: SlotLimits): Slots {
  const maxOfOwner = Math.max(1, limits.atOnce - 1);
  const queue: Waiting[] = [];
  /** Slots by owner, without owners that have none. */
  const held = new Map<string, number>();
  /** Number of an owner's newest slot; kept while the owner has or waits for a slot. */
  const lastTurn = new Map<string, number>();
  let [taken, turn] = [0, 0];

  const heldBy = (owner: string) => held.get(owner) ?? 0;
  const mayTake = (owner: string) => taken < limits.atOnce && heldBy(owner) < maxOfOwner;

  function hold(owner: string): () => void {
    taken += 1;
    turn += 1;
    held.set(owner, heldBy(owner) + 1);
    lastTurn.set(owner, turn);
    let freed = false;
    return () => {
      if (freed) return;
      freed = true;
      taken -= 1;
      if (heldBy(owner) > 1) held.set(owner, heldBy(owner) - 1);
      else held.delete(owner);
      giveNext();
      forget(owner);
    };
  }

  function forget(owner: string): void {
    if (!held.has(owner) && !queue.some((one) => one.owner === owner)) lastTurn.delete(owner);
  }

  function giveNext(): void {
    const rank = ({ owner }: Waiting) => [heldBy(owner), lastTurn.get(owner) ?? 0] as const;
    let next: Waiting | undefined;
    for (const one of queue) {
      if (!mayTake(one.owner)) continue;
      const [[slots, last], best] = [rank(one), next && rank(next)];
      if (!best || slots < best[0] || (slots === best[0] && last < best[1])) next = one;
    }
    if (!next) return;
    queue.splice(queue.indexOf(next), 1);
    next.give(hold(next.owner));
  }

  return {
    taken: () => taken,
    waiting: () => queue.length,

    async take(owner, signal) {
      signal.throwIfAborted();
      if (mayTake(owner)) return hold(owner);
      const own = queue.filter((one) => one.owner === owner).length;
      if (queue.length >= limits.waiting || own >= limits.waitingOfOne) return undefined;
      return new Promise((resolve, reject) => {
        const leave = () => {
          queue.splice(queue.indexOf(waiting), 1);
          forget(owner);
          reject(signal.reason);
        };
        const waiting: Waiting = {
          owner,
          give: (free) => {
            signal.removeEventListener('abort', leave);
            resolve(free);
          },
        };
        queue.push(waiting);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
