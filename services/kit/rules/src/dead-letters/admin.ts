import { createHash } from 'node:crypto';
import { DeadLettersAdminService } from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Audit } from '../audit/outbox.ts';
import type { Subject } from '../audit/record.ts';
import { contentOf, headersOf } from './content.ts';
import { type DeadLetterDocument, eventOf } from './documents.ts';
import type { DeadLetters } from './log.ts';

const maxCharacters = 500;

/** The dead letters of one service, with the outbox for the audit records of their changes. */
export interface AuditedDeadLetters extends DeadLetters {
  readonly audit: Audit;
}

/**
 * RPCs with which operators read and change the dead letters of this process's services
 * (proto/eventlog/v1/admin.proto).
 */
export function deadLettersAdmin(services: readonly AuditedDeadLetters[]): RpcBinding {
  /** Returns the dead letter, and the dead letters of the service that has it. */
  const find = async (
    id: string,
  ): Promise<{ service: AuditedDeadLetters; deadLetter: DeadLetterDocument }> => {
    for (const service of services) {
      const deadLetter = await service.get(id);
      if (deadLetter) return { service, deadLetter };
    }
    throw new DomainError('not_found', `There is no dead letter ${id}.`);
  };
  return bind(DeadLettersAdminService, {
    async listDeadLetters({ limit, ended }) {
      const max = Math.min(limit || 100, 1000);
      const all = (await Promise.all(services.map((service) => service.list(max, ended)))).flat();
      all.sort((a, b) => a.setAsideAtMs - b.setAsideAtMs || a.offset - b.offset);
      return { deadLetters: all.slice(-max).map(summary) };
    },
    async getDeadLetter({ id }) {
      const { deadLetter } = await find(id);
      const event = eventOf(deadLetter);
      return {
        deadLetter: summary(deadLetter),
        headers: headersOf(event),
        publishedAtMs: BigInt(deadLetter.publishedAtMs),
        content: contentOf(event),
        sha256: createHash('sha256').update(event.value).digest('hex'),
        steps: deadLetter.steps.map(({ atMs, what }) => ({ atMs: BigInt(atMs), what })),
      };
    },
    async replayDeadLetter({ id, reason }) {
      const { service } = await find(id);
      const text = validReason(reason);
      const replayed = await service.audit.change(changeOf(id), (record) => service.replay(id, text, record));
      return { deadLetter: summary(replayed) };
    },
    async discardDeadLetter({ id, reason }) {
      const { service } = await find(id);
      const text = validReason(reason);
      const discarded = await service.audit.change(changeOf(id), (record) =>
        service.discard(id, text, record),
      );
      return { deadLetter: summary(discarded) };
    },
  });
}

function changeOf(target: string): Subject {
  return { target, fields: ['state', 'reason'] };
}

function validReason(reason: string): string {
  const text = reason.trim();
  if (text === '' || isLongerThan(text, maxCharacters)) {
    throw new DomainError('invalid_argument', `The reason must have 1 to ${maxCharacters} characters.`);
  }
  return text;
}

function summary(deadLetter: DeadLetterDocument | null) {
  if (!deadLetter) throw new DomainError('not_found', 'The dead letter has expired meanwhile.');
  const { _id, topic, key, group, error, partition, offset, kind, state, reason, setAsideAtMs } = deadLetter;
  return {
    ...{ id: _id, topic, key, group, error, kind, state, reason },
    position: `${partition}:${offset}`,
    atMs: BigInt(setAsideAtMs),
    sizeBytes: eventOf(deadLetter).value.byteLength,
  };
}
