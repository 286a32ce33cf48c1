import { DomainError } from '@headset-cloud/kit/errors.ts';
import { judgeFirmware, type QueuedFirmware } from '../domain/firmware.ts';
import { openStatuses } from '../domain/state.ts';
import type { Heads, Queries } from '../ports.ts';

/** A create that has not stored its transaction after this time never will; milliseconds. */
const creatingMs = 60_000;
const mostTries = 20;

/**
 * Takes a firmware update into the device's queue, or throws where it would be a downgrade behind one
 * that is unprocessed (rule A13). The queue is in the device's head, changed only as it was seen:
 * of two calls at the same time the later one sees the earlier, also before its transaction is stored.
 * Called after the id is drawn and before the transaction is stored. False: an update with a higher id
 * is in the queue already, which would come after this one: it needs a higher id yet. An id that its
 * caller drew stays; should an older version stand behind it then, the headset refuses that one.
 */
export async function queueFirmware(
  store: Heads & Pick<Queries, 'getMany'>,
  deviceId: string,
  asked: QueuedFirmware,
  idIsFixed: boolean,
): Promise<boolean> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { queued, changes, floorEpoch } = await store.firmwareQueue(deviceId);
    // A repeat of a create that was cut off: it was judged when it came first.
    if (queued.some(({ id }) => id === asked.id)) return true;
    const known = new Map((await store.getMany(queued.map(({ id }) => id))).map((t) => [t.id, t.status]));
    const judgement = judgeFirmware(queued, asked, ({ id, activationEpoch, atMs }) => {
      const status = known.get(id);
      if (activationEpoch < floorEpoch) return false;
      return status ? openStatuses.includes(status) : atMs > asked.atMs - creatingMs;
    });
    if (!idIsFixed && queued.some(({ id }) => id > asked.id)) return false;
    if ('newer' in judgement) throw downgrade(asked.version, judgement.newer);
    if (await store.replaceFirmwareQueue(deviceId, changes, judgement.queued)) return true;
  }
  throw new DomainError('conflict', 'Too many calls for this device at once.');
}

const downgrade = (version: string, newer: string) =>
  new DomainError(
    'invalid_argument',
    `The firmware version ${version} is older than ${newer}, to which an unprocessed update of the device leads.`,
  );
