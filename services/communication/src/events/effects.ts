import { connectionOf } from '../domain/places.ts';
import type { SoraEvent } from '../domain/sora-event.ts';
import type { ConnectionStore } from '../ports/connection-store.ts';
import type { Devices } from '../ports/devices.ts';
import type { EndpointStore } from '../ports/endpoint-store.ts';
import type { StoredEvent } from '../ports/event-store.ts';

/** State of an event's connection. */
export interface ConnectionState {
  /** The verified device; null if there is none. */
  readonly deviceId: string | null;
  readonly createdAtMs: number | undefined;
  /** Time up to which the connection is billed; undefined if no part is billed. */
  readonly billedToMs: number | undefined;
}

/** Applies an event to its connection and to the endpoint's places. */
export interface ConnectionEffects {
  /** Idempotent. */
  apply(stored: StoredEvent, event: SoraEvent): Promise<ConnectionState>;
}

export function createConnectionEffects(deps: {
  endpoints: EndpointStore;
  connections: ConnectionStore;
  devices: Devices;
  silentMs: number;
}): ConnectionEffects {
  const { endpoints, connections, devices, silentMs } = deps;

  /**
   * Takes, renews or frees the place of a connection. A 'destroyed' event is stored before it frees the place. Any
   * other event checks for a stored 'destroyed' after it has taken a place, and then frees it. So no ended connection
   * keeps a place, in whatever order the events arrive.
   */
  async function updatePlace(
    stored: StoredEvent,
    event: SoraEvent,
    connectionId: string,
    destroyed: boolean,
  ) {
    const { endpointId, channelId, arrivedAtMs } = stored;
    if (destroyed) return endpoints.free(endpointId, connectionOf(connectionId));
    if (!event.type.startsWith('connection.')) return;
    await endpoints.occupy(endpointId, channelId, connectionId, arrivedAtMs + silentMs);
    if ((await connections.get(connectionId))?.destroyed) {
      await endpoints.free(endpointId, connectionOf(connectionId));
    }
  }

  /**
   * Accepts the claimed device only if the channel's application has activated it (rule A16). The first decision is
   * final.
   */
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
      const isConnectionEvent = type.startsWith('connection.');
      const state = await connections.recordEvent(
        connectionId,
        {
          channelId: stored.channelId,
          createdAtMs: isConnectionEvent ? began : undefined,
          destroyed: type === 'connection.destroyed',
          ...(isConnectionEvent && {
            alive: { atMs: event.atMs, silentAtMs: stored.arrivedAtMs + silentMs },
          }),
        },
        stored.arrivedAtMs,
      );
      await updatePlace(stored, event, connectionId, state.destroyed);
      const deviceId =
        state.deviceId === undefined ? await decideDevice(stored, event, connectionId) : state.deviceId;
      return { deviceId, createdAtMs: state.createdAtMs, billedToMs: state.billedToMs };
    },
  };
}
