/** How many may work at once, and wait, in all and of one owner. */
export interface SlotLimits {
  readonly atOnce: number;
  readonly waiting: number;
  readonly waitingOfOne: number;
}

export interface Slots {
  /**
   * Waits for a slot; the answer frees it. Undefined: as many wait as may. Throws when the signal aborts.
   * The owner that has the fewest slots is next; among equal ones, the owner that had none for the longest.
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
 * Shares slots among owners: one alone gets all but one of them, so that another never waits for it, and
 * those that wait take turns.
 */
export function createSlots(limits: SlotLimits): Slots {
  const mostOfOne = Math.max(1, limits.atOnce - 1);
  const queue: Waiting[] = [];
  /** Slots by owner; owners without any are not listed. */
  const held = new Map<string, number>();
  /** The turn in which an owner last got a slot, while it has or waits for one. */
  const lastTurn = new Map<string, number>();
  let [taken, turn] = [0, 0];

  const heldBy = (owner: string) => held.get(owner) ?? 0;
  const mayTake = (owner: string) => taken < limits.atOnce && heldBy(owner) < mostOfOne;

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
