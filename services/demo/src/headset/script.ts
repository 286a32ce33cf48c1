import { type Action, apply } from './actions.ts';
import type { Headset } from './headset.ts';

/** A step of a script: an action, or a wait until the operation with this operationId has taken effect. */
export type Step =
  | Action
  | {
      readonly action: 'await';
      readonly effect: string;
      readonly deviceId?: string;
      readonly afterMs?: number;
    };

/**
 * Runs steps in order. Each step waits `afterMs` after the step before. `await` waits until the operation has taken
 * effect on a headset (or on `deviceId`) since the script began. Each effect ends only one `await`.
 */
export async function runScript(
  headsets: ReadonlyMap<string, Headset>,
  steps: readonly Step[],
): Promise<void> {
  const effects = new EffectsSeen(headsets);
  try {
    for (const step of steps) {
      if (step.afterMs) await new Promise((resolve) => setTimeout(resolve, step.afterMs));
      if (step.action === 'await') await effects.take(step.effect, step.deviceId);
      else apply(headsets, step);
    }
  } finally {
    effects.close();
  }
}

interface Seen {
  readonly deviceId: string;
  readonly operation: string;
}

class EffectsSeen {
  #seen: Seen[] = [];
  #changed: () => void = () => {};
  readonly #closings: (() => void)[];

  constructor(headsets: ReadonlyMap<string, Headset>) {
    this.#closings = [...headsets.values()].map((headset) => {
      const listener = (_: number, operation: string) => {
        this.#seen.push({ deviceId: headset.deviceId, operation });
        this.#changed();
      };
      headset.on('effect', listener);
      return () => headset.off('effect', listener);
    });
  }

  async take(operation: string, deviceId: string | undefined): Promise<void> {
    for (;;) {
      const index = this.#seen.findIndex(
        (seen) => seen.operation === operation && (deviceId === undefined || seen.deviceId === deviceId),
      );
      if (index >= 0) {
        this.#seen.splice(index, 1);
        return;
      }
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  close(): void {
    for (const close of this.#closings) close();
  }
}
