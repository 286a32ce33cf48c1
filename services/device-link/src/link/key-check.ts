import type { Logger } from '@headset-cloud/kit/logger.ts';
import { repeat } from '@headset-cloud/kit/repeat.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Session } from './session.ts';

/** Keys that one call asks about. */
const keysPerCall = 1000;
/** Shorter than other calls: a devices that hangs must not use up the 5 s; milliseconds. */
const deadlineMs = 1000;

export interface KeyCheckDeps {
  readonly sessions: () => Iterable<Session>;
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'checkHeadsetKeys'>;
  readonly logger: Logger;
  /** How often all sessions are checked; milliseconds. */
  readonly everyMs: number;
}

/**
 * Asks devices again and again whether the keys of the open sessions are still registered, and ends the sessions
 * of those that are not (ADR 0038). While devices does not answer, nothing ends.
 */
export function createKeyCheck({ sessions, keys, logger, everyMs }: KeyCheckDeps) {
  let failing = false;

  async function check(batch: readonly Session[]): Promise<void> {
    const inUse = batch.map(({ deviceId, keyId }) => ({ deviceId, keyId }));
    const { removed } = await keys.checkHeadsetKeys({ keys: inUse }, { deadlineMs });
    for (const position of removed) batch[position]?.keyRemoved();
  }

  return repeat('the check of the keys of open sessions', everyMs, logger, async () => {
    const open = [...sessions()];
    try {
      for (let i = 0; i < open.length; i += keysPerCall) await check(open.slice(i, i + keysPerCall));
      if (failing) logger.info('the keys of open sessions can be checked again');
      failing = false;
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'the keys of open sessions cannot be checked');
      failing = true;
    }
    return 0;
  });
}
