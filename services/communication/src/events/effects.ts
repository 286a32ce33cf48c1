import { connectionOf } from '../domain/places.ts';
import { createdAtMs, type SoraEvent } from '../domain/sora-event.ts';
import type { ConnectionStore, Devices, EndpointStore, StoredEvent } from '../ports.ts';

/** Applies an event to its connection and to the endpoint's places. */
export interface ConnectionEffects {
  /** Returns the connection's verified device, and when the connection began, if known. Idempotent. */
  apply(
    stored: StoredEvent,
    event: SoraEvent,
  ): Promise<{ deviceId: string | null; createdAtMs: number | undefined }>;
}

export function createConnectionEffects(deps: {
  endpoints: EndpointStore;
  connections: ConnectionStore;
  devices: Devices;
  silentMs: number;
}): ConnectionEffects {
  const { endpoints, connections, devices, silentMs } = deps;

  /**
   * A 'destroyed' event is noted before its place is freed, and a 'created' event checks for that note
   * after it has taken a place: so no place stays taken, whichever event comes first.
   */
  async function place(stored: StoredEvent, event: SoraEvent, connectionId: string, destroyed: boolean) {
    const { endpointId, channelId, arrivedAtMs } = stored;
    if (destroyed) return endpoints.free(endpointId, connectionOf(connectionId));
    if (!event.type.startsWith('connection.')) return;
    await endpoints.occupy(endpointId, channelId, connectionId, arrivedAtMs + silentMs);
    if ((await connections.get(connectionId))?.destroyed) {
      await endpoints.free(endpointId, connectionOf(connectionId));
    }
  }

  /** Accepts only a device of the channel's own application (rule A16); the first decision stays. */
  async function judge(stored: StoredEvent, event: SoraEvent, connectionId: string) {
    const { claimedDeviceId } = event;
    if (claimedDeviceId === null) return null;
    const own = (await devices.applicationOf(claimedDeviceId)) === stored.applicationId;
    return connections.judge(connectionId, own ? claimedDeviceId : null);
  }

  return {
    async apply(stored, event) {
      const { connectionId, type } = event;
      if (connectionId === null || !event.forwarded) return { deviceId: null, createdAtMs: undefined };
      const began = createdAtMs(event) ?? (type === 'connection.created' ? event.atMs : undefined);
      const noted = await connections.note(
        connectionId,
        {
          channelId: stored.channelId,
          createdAtMs: type.startsWith('connection.') ? began : undefined,
          destroyed: type === 'connection.destroyed',
        },
        stored.arrivedAtMs,
      );
      await place(stored, event, connectionId, noted.destroyed);
      const deviceId =
        noted.deviceId === undefined ? await judge(stored, event, connectionId) : noted.deviceId;
      return { deviceId, createdAtMs: noted.createdAtMs };
    },
  };
}
