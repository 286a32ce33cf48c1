import type { CurrentActivation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';

import type { Limiter } from './limiter.ts';

/** Reads what the welcome tells of a headset's activation; undefined: it cannot be told at the moment. */
export type ActivationReader = (deviceId: string) => Promise<CurrentActivation | undefined>;

/**
 * Asks devices for a headset's activation (rule A7). Never throws and never takes longer than the
 * deadline, the wait for its turn included: a session begins without it. The answer holds the client
 * secret and is never logged.
 */
export function createActivationReader(deps: {
  readonly devices: Pick<Client<typeof HeadsetKeysService>, 'getCurrentActivation'>;
  /** Bounds the look-ups that run at a time. */
  readonly limiter: Limiter;
  readonly logger: Logger;
  readonly deadlineMs: number;
  readonly time?: Time;
}): ActivationReader {
  const { devices, limiter, logger, deadlineMs, time = systemTime } = deps;
  return (deviceId) => {
    const given = new AbortController();
    const late = new Promise<undefined>((resolve) => {
      given.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const timer = time.setTimeout(() => given.abort(), deadlineMs);
    const asked = limiter(async () => {
      // Who waited until the deadline is not asked about any more.
      if (given.signal.aborted) return undefined;
      const { activation } = await devices.getCurrentActivation(
        { deviceId },
        { deadlineMs, signal: given.signal },
      );
      return activation;
    }).catch((error) => {
      logger.warn({ deviceId, err: error }, 'a headset is welcomed without its activation');
      return undefined;
    });
    return Promise.race([asked, late]).finally(() => time.clearTimer(timer));
  };
}
