import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import type { ApiClient } from '../api.ts';
import { callbacksIn } from '../stack/callbacks.ts';
import type { Demo } from './demo.ts';

const timeoutMs = 20_000;

/**
 * Runs one activation and one command up to their verified callbacks. If the user has changed the demo's
 * settings since an earlier run, it says so instead.
 */
export async function showcase(options: {
  api: ApiClient;
  demo: Demo;
  /** Where the integrator's server notes what arrives. */
  callbacks: string;
  /** Keys that it verifies with, to be named to the user. */
  keyFile: string;
  step: (text: string) => void;
}): Promise<void> {
  const { api, demo, callbacks, keyFile, step } = options;
  const settings = await api.app('GET', '');
  if (settings.status !== 200)
    throw new Error(`settings: ${settings.status} ${JSON.stringify(settings.body)}`);
  const { deviceEvent } = settings.body;
  if (deviceEvent !== demo.integratorUrl) {
    step(`not shown again: deviceEvent is ${deviceEvent}, no longer ${demo.integratorUrl}`);
    return;
  }
  // Earlier callbacks may have the same ids, from another database.
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
          // While one callback is refused, the later ones wait.
          .find((c) => !c.verified || c.body.notificationType === 'processed'),
      { timeoutMs },
    );
    if (!verified) {
      step(`${what}: its callback arrived, signed with a key that ${keyFile} does not have: add the new one`);
      return;
    }
    step(`${what}: its signed callback arrived and was verified`);
  }
}

/** The app's client id is its headset's own: an earlier demo's headset may still hold another. */
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
