import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { readRecordingEvent } from '../domain/recording.ts';
import { emptiedBody, readSoraEvent } from '../domain/sora-event.ts';
import type { ConnectionOfDevice, ForgetStore } from '../ports/forget-store.ts';
import type { ConnectionDocument, EventDocument } from './documents.ts';

/** Few, because a channel of several hours has thousands of events. */
const connectionsAtOnce = 5;

/** A device's connections in meetings, and Sora's events of them. */
export function createForgetStore(
  connections: StoreCollection<ConnectionDocument>,
  events: StoreCollection<EventDocument>,
): ForgetStore {
  /** The events that name the connection or the device. */
  async function eventsOf(connectionId: string, channelId: string, deviceId: string) {
    const done: string[] = [];
    const notificationIds = new Set<string>();
    let held = 0;
    const projection = { body: 1, dueAtMs: 1, arrivedAtMs: 1 } as const;
    for await (const event of events.find({ channelId }, { sort: { seq: 1 }, projection })) {
      const { _id, body, dueAtMs, arrivedAtMs } = event;
      if (!body.includes(connectionId) && !body.includes(deviceId)) continue;
      notificationIds.add(`sora-${_id}`);
      const read = readSoraEvent(JSON.parse(body), { arrivedAtMs });
      const recordingEvent = read && readRecordingEvent(read);
      if (recordingEvent) notificationIds.add(`recording-${recordingEvent.recordingId}`);
      if (dueAtMs === undefined) done.push(_id);
      else held += 1;
    }
    return { done, notificationIds: [...notificationIds], held };
  }

  return {
    async page(deviceId, after) {
      const found = await connections
        .find({ deviceId, _id: { $gt: after } }, { sort: { _id: 1 }, limit: connectionsAtOnce })
        .toArray();
      const page: ConnectionOfDevice[] = [];
      for (const { _id: connectionId, channelId } of found) {
        const { done, notificationIds, held } = await eventsOf(connectionId, channelId, deviceId);
        page.push({ connectionId, notificationIds, events: done.length, held });
      }
      return {
        connections: page,
        next: found.length === connectionsAtOnce ? (found.at(-1)?._id ?? '') : '',
      };
    },
    async forget(deviceId, connectionIds) {
      let [forgotten, left] = [0, 0];
      let emptiedEvents = 0;
      for (const connectionId of connectionIds) {
        const found = await connections.findOne({ _id: connectionId, deviceId });
        if (!found) continue;
        const { done, held } = await eventsOf(connectionId, found.channelId, deviceId);
        const these = { _id: { $in: done }, dueAtMs: { $exists: false } };
        emptiedEvents += (await events.updateMany(these, { $set: { body: emptiedBody } })).modifiedCount;
        if (held > 0) {
          left += 1;
          continue;
        }
        // Last, because it removes the device from the connection. A later event of the connection names no device.
        const { matchedCount } = await connections.updateOne(
          { _id: connectionId, deviceId },
          { $set: { deviceId: null } },
        );
        forgotten += matchedCount;
      }
      return { connections: forgotten, events: emptiedEvents, left };
    },
  };
}
