import { ChannelAllocator } from './channels/allocator.ts';
import type { CommunicationMetrics } from './metrics.ts';
import type { Uploader } from './ports/uploader.ts';
import { createUploader } from './recordings/uploader.ts';

/** Counts the calls of the allocator by outcome. */
export function countedAllocator(
  metrics: Pick<CommunicationMetrics, 'channel'>,
  options: ConstructorParameters<typeof ChannelAllocator>[0],
): Pick<ChannelAllocator, 'create'> {
  const allocator = new ChannelAllocator(options);
  return {
    async create(request) {
      try {
        const channel = await allocator.create(request);
        metrics.channel();
        return channel;
      } catch (error) {
        metrics.channel(error);
        throw error;
      }
    },
  };
}

/** Counts the attempts of the uploader by outcome. */
export function countedUploader(
  metrics: Pick<CommunicationMetrics, 'sent'>,
  options: Parameters<typeof createUploader>[0],
): Uploader {
  const uploader = createUploader(options);
  return {
    async upload(from, to, signal) {
      const result = await uploader.upload(from, to, signal);
      metrics.sent(result.outcome, from.bytes);
      return result;
    },
    close: () => uploader.close(),
  };
}
