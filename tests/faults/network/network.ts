import type { StackPlan } from '@headset-cloud/demo/stack/stack.ts';
import type { Inside } from '../inside/environment.ts';
import { type Relay, startRelay } from './relay.ts';

/** All lines of a run: between the processes, to what they stand on, and from outside to their doors. */
export interface Network {
  /** Every line by its name: `from>to`, as in `transactions>mongo`. */
  readonly lines: ReadonlyMap<string, Relay>;
  /** Stands between all programs of a stack that is about to start; answers the routes of each process. */
  surround(plan: StackPlan): Promise<Readonly<Record<string, Inside['routes']>>>;
  /** A line from outside to a door; answers the address to use. */
  door(name: string, targets: readonly string[]): Promise<string>;
  /** Every line is open again. */
  heal(): void;
  close(): Promise<void>;
}

export function createNetwork(): Network {
  const lines = new Map<string, Relay>();
  const add = async (name: string, targets: readonly string[]): Promise<string> => {
    const relay = await startRelay(targets);
    lines.set(name, relay);
    return relay.address;
  };
  return {
    lines,
    async surround({ processes, addresses }) {
      const routes: Record<string, Inside['routes']> = {};
      for (const from of processes) {
        const table: Record<string, string> = {};
        for (const [to, address] of Object.entries(addresses)) {
          if (to !== from) table[address] = await add(`${from}>${to}`, [address]);
        }
        routes[from] = table;
      }
      return routes;
    },
    door: add,
    heal() {
      for (const line of lines.values()) if (line.state.kind !== 'open') line.set({ kind: 'open' });
    },
    async close() {
      await Promise.all([...lines.values()].map((line) => line.close()));
    },
  };
}
