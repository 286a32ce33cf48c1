import type { Logger } from '@headset-cloud/kit/logger.ts';
import { repeat } from '@headset-cloud/kit/repeat.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Session } from './session.ts';

/** Keys that one call asks about. */
const keysPerCall = 1000;
/** Calls of one turn, so that a large fleet costs no more than this; the rest is asked about in the next turns. */
const callsPerTurn = 2;
/** Shorter than other calls: a devices that hangs must not use up the 5 s; milliseconds. */
const deadlineMs = 1000;

export interface KeyCheckDeps {
  readonly sessions: () => Iterable<Session>;
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'checkHeadsetKeys'>;
  readonly logger: Logger;
  /** How often sessions are checked: all of them, or the next `mostPerTurn`; milliseconds. */
  readonly everyMs: number;
  /** Sessions that one turn asks about. */
  readonly mostPerTurn?: number;
}

/**
 * Asks devices again and again whether the keys of the open sessions are still registered, and ends the sessions
 * of those that are not (ADR 0038). While devices does not answer, nothing ends.
 */
export function createKeyCheck(deps: KeyCheckDeps) {
  const { sessions, keys, logger, everyMs, mostPerTurn = callsPerTurn * keysPerCall } = deps;
  let failing = false;
  /** Those that this round has still to ask about. */
  let left: Session[] = [];

  async function check(batch: readonly Session[]): Promise<void> {
    const inUse = batch.map(({ deviceId, keyId }) => ({ deviceId, keyId }));
    const { removed } = await keys.checkHeadsetKeys({ keys: inUse }, { deadlineMs });
    for (const position of removed) batch[position]?.keyRemoved();
  }

  return repeat('the check of the keys of open sessions', everyMs, logger, async () => {
    if (left.length === 0) left = [...sessions()];
    const turn = left.slice(0, mostPerTurn);
    try {
      for (let i = 0; i < turn.length; i += keysPerCall) {
        await check(turn.slice(i, i + keysPerCall).filter((session) => !session.ended));
      }
      left = left.slice(turn.length);
      if (failing) logger.info('the keys of open sessions can be checked again');
      failing = false;
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'the keys of open sessions cannot be checked');
      failing = true;
    }
    return 0;
  });
}
