import type { CurrentActivation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Limiter } from '../calls/limiter.ts';

/** Reads a headset's activation for the welcome. Returns undefined if the activation cannot be read now. */
export type ActivationReader = (deviceId: string) => Promise<CurrentActivation | undefined>;

/**
 * Creates the reader of headsets' activations from devices (rule A7). The reader never throws, and returns within the
 * deadline, even if the limiter makes the call wait: a session can begin without the activation. The activation
 * contains the client secret and is never logged.
 */
export function createActivationReader(deps: {
  readonly devices: Pick<Client<typeof HeadsetKeysService>, 'getCurrentActivation'>;
  /** Limits concurrent calls. */
  readonly limiter: Limiter;
  readonly logger: Logger;
  readonly deadlineMs: number;
  readonly time?: Time;
}): ActivationReader {
  const { devices, limiter, logger, deadlineMs, time = systemTime } = deps;
  return (deviceId) => {
    const deadline = new AbortController();
    const timedOut = new Promise<undefined>((resolve) => {
      deadline.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const timer = time.setTimeout(() => deadline.abort(), deadlineMs);
    const read = limiter(async () => {
      // The deadline passed while the call waited for the limiter.
      if (deadline.signal.aborted) return undefined;
      const { activation } = await devices.getCurrentActivation(
        { deviceId },
        { deadlineMs, signal: deadline.signal },
      );
      return activation;
    }).catch((error) => {
      logger.warn(
        { deviceId, err: error },
        'the activation could not be read, sending the welcome without it',
      );
      return undefined;
    });
    return Promise.race([read, timedOut]).finally(() => time.clearTimer(timer));
  };
}
