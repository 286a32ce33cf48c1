import type { StackPlan } from '@headset-cloud/demo/stack/stack.ts';
import type { Inside } from '../inside/environment.ts';
import { type Relay, startRelay } from './relay.ts';

/** All lines of a run: between the processes, to MongoDB and Kafka, and from clients to the platform. */
export interface Network {
  /** All lines by name: `from>to`, for example `transactions>mongo`. */
  readonly lines: ReadonlyMap<string, Relay>;
  /** Starts relays between all programs of a stack before its start. Returns the routes of each process. */
  surround(plan: StackPlan): Promise<Readonly<Record<string, Inside['routes']>>>;
  /** Adds a line from clients to listen addresses of the platform. Returns the relay's address. */
  listener(name: string, targets: readonly string[]): Promise<string>;
  /** Opens all lines. */
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
    listener: add,
    heal() {
      for (const line of lines.values()) if (line.state.kind !== 'open') line.set({ kind: 'open' });
    },
    async close() {
      await Promise.all([...lines.values()].map((line) => line.close()));
    },
  };
}
