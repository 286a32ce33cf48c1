import { ChannelAllocator } from '../channels/allocator.ts';
import { createChannelStore } from '../store/channels.ts';
import { collections } from '../store/documents.ts';
import { createEndpointStore } from '../store/endpoints.ts';
import type { World } from './world.ts';

/** Places taken now, by endpoint, as operators see them. */
export async function endpointCounts(world: World): Promise<Record<string, number>> {
  const { endpoints } = await world.admin.listEndpoints({});
  return Object.fromEntries(endpoints.map(({ endpointId, taken }) => [endpointId, taken]));
}

/** A function that creates channels in another instance on the same data. */
export function anotherInstance(world: World): (channelId: string) => Promise<unknown> {
  const { store } = world;
  const allocator = new ChannelAllocator({
    endpoints: createEndpointStore(
      store.collection(collections.endpoints),
      store.collection(collections.settings),
      { clock: { now: () => world.nowMs }, reservationMs: 120_000 },
    ),
    channels: createChannelStore(store.collection(collections.channels), 1000),
    clock: { now: () => world.nowMs },
    reservationMs: 120_000,
  });
  return (channelId) => allocator.create({ channelId, applicationId: 'app', soraVersion: '' });
}
