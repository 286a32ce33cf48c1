import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';

/** Maximum number of keys in one call. */
const keysPerCall = 1000;
/** Minimum number of sessions in one check, if there are as many. */
const leastPerTurn = 200;
/** Maximum number of sessions in one check, so that a large fleet costs no more than this. */
const mostAtOnce = 2 * keysPerCall;
/** Time in which every session is checked once, if one check does not cover all of them; milliseconds. */
const roundMs = 60_000;
/** Shorter than for other calls, because a removed key should end its session within 5 s; milliseconds. */
const deadlineMs = 1000;

/** A session, or a stream whose token was accepted and whose session has not begun. */
export interface KeyHolder {
  readonly deviceId: string;
  readonly keyId: string;
  readonly ended: boolean;
  /** Ends it. */
  keyRemoved(): void;
}

export interface KeyCheckDeps {
  readonly sessions: () => Iterable<KeyHolder>;
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'checkHeadsetKeys'>;
  readonly logger: Logger;
  /** How often sessions are checked: all of them, or as many as make a round of a minute; milliseconds. */
  readonly everyMs: number;
  /** Maximum number of sessions in one check. */
  readonly mostPerTurn?: number;
}

/**
 * Asks devices periodically whether the keys of open sessions and pending streams are still registered, and ends those
 * without a registered key (ADR 0038). If one check does not cover all sessions, every check includes the sessions of
 * devices that have just lost a key. While devices is unavailable, no session ends.
 */
export function createKeyCheck(deps: KeyCheckDeps) {
  const { sessions, keys, logger, everyMs, mostPerTurn = mostAtOnce } = deps;
  let failing = false;
  /** Sessions that this round has not checked yet. */
  let left: KeyHolder[] = [];

  /** `withRecent`: returns the devices that have just lost a key. */
  async function check(batch: readonly KeyHolder[], withRecent: boolean): Promise<readonly string[]> {
    const inUse = batch.filter((session) => !session.ended);
    const { removed, recentDeviceIds } = await keys.checkHeadsetKeys(
      { keys: inUse.map(({ deviceId, keyId }) => ({ deviceId, keyId })), withRecent },
      { deadlineMs },
    );
    for (const position of removed) inUse[position]?.keyRemoved();
    return recentDeviceIds;
  }

  async function checkAll(some: readonly KeyHolder[]): Promise<void> {
    for (let i = 0; i < some.length; i += keysPerCall) await check(some.slice(i, i + keysPerCall), false);
  }

  return repeat('the check of the keys of open sessions', everyMs, logger, async () => {
    const open = [...sessions()];
    if (left.length === 0) left = open;
    const share = Math.ceil((open.length * everyMs) / roundMs);
    const turn = left.slice(0, Math.min(mostPerTurn, Math.max(leastPerTurn, share)));
    try {
      if (turn.length < open.length) {
        // The sessions of devices that have just lost a key are checked first.
        const recent = new Set(await check(turn.slice(0, keysPerCall), true));
        if (recent.size > 0) await checkAll(open.filter(({ deviceId }) => recent.has(deviceId)));
        await checkAll(turn.slice(keysPerCall));
      } else {
        await checkAll(turn);
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
