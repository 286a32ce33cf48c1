import type { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { ChannelAllocator } from '../channels/allocator.ts';
import { channelId } from '../domain/channel-id.ts';
import type { ChannelStore } from '../ports/channel-store.ts';

/** POST /v1/applications/{applicationId}/channels. */
export function createChannelHandler(deps: {
  allocator: Pick<ChannelAllocator, 'create'>;
  channels: ChannelStore;
  idempotency: Idempotency;
  clock: Clock;
  randomBelow: (n: number) => number;
}): Handlers<typeof CommunicationService>['createChannel'] {
  return async ({ caller, soraVersion }) => {
    if (!caller?.applicationId) throw new DomainError('invalid_argument', 'The call names no caller.');
    const { applicationId } = caller;
    return deps.idempotency.run(caller, {
      draw: async () => channelId(deps.clock.now(), deps.randomBelow),
      async work(id) {
        // Only a repeat can find an existing channel.
        const existing = caller.idempotency ? await deps.channels.get(id) : undefined;
        const { endpointUrl } =
          existing ?? (await deps.allocator.create({ channelId: id, applicationId, soraVersion }));
        return { endpointUrl, channelId: id };
      },
    });
  };
}
