import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { call } from './exercise.ts';
import { type Begun, type Findings, isEnd } from './findings.ts';
import type { World } from './world.ts';

export interface Load {
  /** Stops the load and resolves when every command has its effect and its end callback. Throws if one is missing. */
  end(): Promise<void>;
}

/**
 * Sends commands one after the other to one headset while processes are replaced. A command that waits
 * for a newer version does not delay the next one.
 */
export async function startLoad(world: World, findings: Findings, begun: Begun[]): Promise<Load> {
  const headset = world.newHeadset();
  const device = `/devices/${headset.deviceId}`;
  const own: Begun[] = [];
  let running = true;
  const begin = async (what: string, method: string, path: string, body: unknown) => {
    const { transactionId } = await call({ world, findings, label: 'load' }, method, device + path, body);
    const one = { what: `load: ${what}`, transactionId, deviceId: headset.deviceId };
    begun.push(one);
    own.push(one);
    return one;
  };
  const hasEnded = ({ transactionId }: Begun) =>
    world.integrator.received.some(({ body }) => body.transactionId === transactionId && isEnd(body));
  const activation = await begin('the activation', 'POST', '', { clientId: `app-${headset.deviceId}` });
  await waitFor('the activation of the load', () => hasEnded(activation), { timeoutMs: 60_000 });
  const loop = async () => {
    while (running) {
      const one = await begin('a command', 'PUT', '/commands', {
        package: 'com.example.load',
        launchType: 'service',
      });
      await waitFor('the command', () => !running || hasEnded(one), {
        timeoutMs: 5000,
        intervalMs: 25,
      }).catch(() => {});
    }
  };
  const ended = loop();
  // `end` handles a failure.
  ended.catch(() => {});
  return {
    async end() {
      running = false;
      await ended;
      await waitFor('the ends of all commands', () => own.every(hasEnded), {
        timeoutMs: 60_000,
        intervalMs: 100,
      });
      for (const { what, transactionId } of own.slice(1)) {
        if (!headset.effects.has(transactionId))
          findings.add('callbacks', `${what} ${transactionId}: no effect`);
      }
    },
  };
}
