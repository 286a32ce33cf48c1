import { connectionOf } from '../domain/places.ts';
import type { SoraEvent } from '../domain/sora-event.ts';
import type { ConnectionStore } from '../ports/connection-store.ts';
import type { Devices } from '../ports/devices.ts';
import type { EndpointStore } from '../ports/endpoint-store.ts';
import type { StoredEvent } from '../ports/event-store.ts';

/** State of the connection of an event. */
export interface Known {
  /** The verified device. */
  readonly deviceId: string | null;
  readonly createdAtMs: number | undefined;
  /** The connection's time is billed up to this time; undefined: no part is billed. */
  readonly billedToMs: number | undefined;
}

/** Applies an event to its connection and to the endpoint's places. */
export interface ConnectionEffects {
  /** Idempotent. */
  apply(stored: StoredEvent, event: SoraEvent): Promise<Known>;
}

export function createConnectionEffects(deps: {
  endpoints: EndpointStore;
  connections: ConnectionStore;
  devices: Devices;
  silentMs: number;
}): ConnectionEffects {
  const { endpoints, connections, devices, silentMs } = deps;

  /**
   * Stores a 'destroyed' event before it frees the place. A 'created' event checks for 'destroyed' after it has taken a
   * place. So no place stays taken, whichever event comes first.
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

  /** Accepts only a device of the channel's own application (rule A16). The first decision is final. */
  async function decideDevice(stored: StoredEvent, event: SoraEvent, connectionId: string) {
    const { claimedDeviceId } = event;
    if (claimedDeviceId === null) return null;
    const own = (await devices.applicationOf(claimedDeviceId)) === stored.applicationId;
    return connections.decideDevice(connectionId, own ? claimedDeviceId : null);
  }

  return {
    async apply(stored, event) {
      const { connectionId, type } = event;
      if (connectionId === null || !event.forwarded)
        return { deviceId: null, createdAtMs: undefined, billedToMs: undefined };
      const began = event.createdAtMs ?? (type === 'connection.created' ? event.atMs : undefined);
      const isOwn = type.startsWith('connection.');
      const noted = await connections.note(
        connectionId,
        {
          channelId: stored.channelId,
          createdAtMs: isOwn ? began : undefined,
          destroyed: type === 'connection.destroyed',
          ...(isOwn && { alive: { atMs: event.atMs, silentAtMs: stored.arrivedAtMs + silentMs } }),
        },
        stored.arrivedAtMs,
      );
      await place(stored, event, connectionId, noted.destroyed);
      const deviceId =
        noted.deviceId === undefined ? await decideDevice(stored, event, connectionId) : noted.deviceId;
      return { deviceId, createdAtMs: noted.createdAtMs, billedToMs: noted.billedToMs };
    },
  };
}
