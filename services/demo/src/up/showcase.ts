import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { ApiClient } from '../api.ts';
import { callbacksIn } from '../stack/callbacks.ts';
import type { Demo } from './demo.ts';

const timeoutMs = 20_000;

/**
 * Runs one activation and one command until their callbacks are verified. If the user has changed the callback URL
 * since an earlier run, it only reports that the calls are skipped.
 */
export async function showcase(options: {
  api: ApiClient;
  demo: Demo;
  /** The integrator's callback log. */
  callbacks: string;
  /** File of the integrator's keys, for messages. */
  keyFile: string;
  step: (text: string) => void;
}): Promise<void> {
  const { api, demo, callbacks, keyFile, step } = options;
  const settings = await api.app('GET', '');
  if (settings.status !== 200)
    throw new Error(`settings: ${settings.status} ${JSON.stringify(settings.body)}`);
  const { deviceEvent } = settings.body;
  if (deviceEvent !== demo.integratorUrl) {
    step(`example calls skipped: deviceEvent is ${deviceEvent}, no longer ${demo.integratorUrl}`);
    return;
  }
  // Earlier callbacks of another database may have the same ids.
  const before = callbacksIn(callbacks).length;
  for (const [what, method, path, body] of examples(demo)) {
    const answer = await api.app(method, path, body);
    if (answer.status !== 201) throw new Error(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    const id = answer.body.transactionId as number;
    step(`${what}: 201, transaction ${id}`);
    const { verified } = await waitFor(
      `the callback of transaction ${id}`,
      () =>
        callbacksIn(callbacks)
          .slice(before)
          .filter(({ body: b }) => b?.transactionId === id)
          // Also ends at a rejected callback, because later callbacks wait for it.
          .find((c) => !c.verified || c.body.notificationType === 'processed'),
      { timeoutMs },
    );
    if (!verified) {
      step(
        `${what}: its callback arrived, but was signed with a key that is not in ${keyFile}: add the new key`,
      );
      return;
    }
    step(`${what}: its signed callback arrived and was verified`);
  }
}

/** Example calls. Each headset gets its own client id, because a headset of an earlier demo may still use one. */
function examples({ deviceId }: Demo) {
  return [
    ['activation', 'POST', `/devices/${deviceId}`, { clientId: `demo-app-${deviceId}` }],
    [
      'command',
      'PUT',
      `/devices/${deviceId}/commands`,
      { package: 'com.example.app', launchType: 'activity', extras: { greeting: 'こんにちは', count: 3 } },
    ],
  ] as const;
}
