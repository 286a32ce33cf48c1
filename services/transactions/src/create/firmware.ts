import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { judgeFirmware, type QueuedFirmware } from '../domain/firmware.ts';
import { openStatuses } from '../domain/state.ts';
import type { Heads } from '../ports/heads.ts';
import type { Queries } from '../ports/queries.ts';

/** After this time without a stored transaction a create counts as failed; milliseconds. */
const creatingMs = 60_000;
const mostTries = 20;

/**
 * Adds a firmware update to the device's queue, or throws if it would be a downgrade behind an unprocessed
 * one (rule A13). The queue is in the device's head and is replaced only if it is unchanged since it was
 * read: of two concurrent calls the later one sees the earlier, even before its transaction is stored.
 * Called after the id is drawn and before the transaction is stored. False: the queue already has an update
 * with a higher id, which would run after this one, so this one needs a new, higher id. An id that the
 * caller drew is kept; if the queue then has an older version behind it, the headset refuses that version.
 */
export async function queueFirmware(
  store: Heads & Pick<Queries, 'getMany'>,
  deviceId: string,
  asked: QueuedFirmware,
  idIsFixed: boolean,
): Promise<boolean> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { queued, changes, floorEpoch } = await store.firmwareQueue(deviceId);
    // A repeat of an interrupted create: it was judged the first time.
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
