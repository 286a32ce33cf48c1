import { DeadLettersAdminService } from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import { bind, type RpcBinding } from '../rpc/types.ts';
import { deadLetterTopic, type EventLog, topics } from './types.ts';

/** The operators' view of events that were set aside (decision 4). */
export function deadLettersAdmin(log: EventLog): RpcBinding {
  return bind(DeadLettersAdminService, {
    async listDeadLetters(request) {
      const limit = Math.min(request.limit || 100, 1000);
      const perTopic = await Promise.all(
        Object.values(topics).map(async (topic) => {
          const events = await log.readNewest(deadLetterTopic(topic), limit);
          return events.map((event) => ({
            topic,
            key: event.key,
            group: event.headers['dead-group'] ?? '',
            error: event.headers['dead-error'] ?? '',
            position: event.headers['dead-position'] ?? '',
            atMs: BigInt(event.timestampMs),
            sizeBytes: event.value.length,
          }));
        }),
      );
      return { deadLetters: perTopic.flat().sort((a, b) => Number(a.atMs - b.atMs)) };
    },
  });
}
