import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';

/** Maximum number of keys in one call. */
const keysPerCall = 1000;
/** Minimum number of sessions in one check; fewer only if fewer are left. */
const minPerCheck = 200;
/** Maximum number of sessions in one check, which limits the cost for a large fleet. */
const maxSessionsPerCheck = 2 * keysPerCall;
/** Time for one round, in which every session is checked once, if one check cannot cover all sessions; milliseconds. */
const roundMs = 60_000;
/**
 * Deadline of a call. Shorter than for other calls, because a removed key should end its session within 5 s;
 * milliseconds.
 */
const deadlineMs = 1000;

/** A session, or a stream whose token was accepted and whose session has not begun. */
export interface KeyHolder {
  readonly deviceId: string;
  readonly keyId: string;
  readonly ended: boolean;
  /** Ends the session or stream. */
  keyRemoved(): void;
}

export interface KeyCheckDeps {
  readonly sessions: () => Iterable<KeyHolder>;
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'checkHeadsetKeys'>;
  readonly logger: Logger;
  /**
   * Interval between checks. Each check covers all sessions, or the share that completes a round in time; milliseconds.
   */
  readonly everyMs: number;
  /** Maximum number of sessions in one check. */
  readonly maxPerCheck?: number;
}

/**
 * Checks periodically, with devices, whether the keys of open sessions and pending streams are still registered. Ends
 * sessions and streams whose key is not registered (ADR 0038). A check that does not cover all sessions includes the
 * sessions of devices that have just lost a key. While devices is unavailable, no session ends.
 */
export function createKeyCheck(deps: KeyCheckDeps) {
  const { sessions, keys, logger, everyMs, maxPerCheck = maxSessionsPerCheck } = deps;
  let failing = false;
  /** Sessions that this round has not checked yet. */
  let unchecked: KeyHolder[] = [];

  /** Checks some sessions. With `withRecent`, returns the devices that have just lost a key. */
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
    if (unchecked.length === 0) unchecked = open;
    const share = Math.ceil((open.length * everyMs) / roundMs);
    const selected = unchecked.slice(0, Math.min(maxPerCheck, Math.max(minPerCheck, share)));
    try {
      if (selected.length < open.length) {
        // The first call also returns the devices that have just lost a key. Their sessions are checked next.
        const recent = new Set(await check(selected.slice(0, keysPerCall), true));
        if (recent.size > 0) await checkAll(open.filter(({ deviceId }) => recent.has(deviceId)));
        await checkAll(selected.slice(keysPerCall));
      } else {
        await checkAll(selected);
      }
      unchecked = unchecked.slice(selected.length);
      if (failing) logger.info('the keys of open sessions can be checked again');
      failing = false;
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'the keys of open sessions cannot be checked');
      failing = true;
    }
    return 0;
  });
}
