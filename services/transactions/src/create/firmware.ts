import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { enqueueFirmware, type QueuedFirmware } from '../domain/firmware.ts';
import { openStatuses } from '../domain/state.ts';
import type { DeviceCountersStore } from '../ports/device-counters.ts';
import type { Queries } from '../ports/queries.ts';

/** A queued update whose transaction is not stored after this time counts as failed; milliseconds. */
const creatingMs = 60_000;
const maxTries = 20;

/**
 * Adds a firmware update to the device's queue, after its id was drawn and before its transaction is stored. Throws
 * `invalid_argument` if the update would be a downgrade after an unprocessed update (rule A13). The queue is in the
 * device counters and is replaced only if it is unchanged since the read, so the later of two concurrent calls sees the
 * earlier. False: the queue has an update with a higher id, so this update needs a new id. With `idIsFixed` the id is
 * kept: if the updates then run in the wrong order, the headset rejects the older version.
 */
export async function queueFirmware(
  store: DeviceCountersStore & Pick<Queries, 'getMany'>,
  deviceId: string,
  requested: QueuedFirmware,
  idIsFixed: boolean,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { queued, changes, minActivationEpoch } = await store.firmwareQueue(deviceId);
    // An interrupted create has checked and queued this update; this call is its repeat.
    if (queued.some(({ id }) => id === requested.id)) return true;
    const statusById = new Map(
      (await store.getMany(queued.map(({ id }) => id))).map((t) => [t.id, t.status]),
    );
    const outcome = enqueueFirmware(queued, requested, ({ id, activationEpoch, atMs }) => {
      const status = statusById.get(id);
      if (activationEpoch < minActivationEpoch) return false;
      return status ? openStatuses.includes(status) : atMs > requested.atMs - creatingMs;
    });
    if (!idIsFixed && queued.some(({ id }) => id > requested.id)) return false;
    if ('newer' in outcome) throw downgrade(requested.version, outcome.newer);
    if (await store.replaceFirmwareQueue(deviceId, changes, outcome.queued)) return true;
  }
  throw new DomainError('conflict', 'Too many calls for this device at once.');
}

const downgrade = (version: string, newer: string) =>
  new DomainError(
    'invalid_argument',
    `The firmware version ${version} is older than ${newer}, to which an unprocessed update of the device leads.`,
  );
