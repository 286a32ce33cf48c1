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

const mostCharacters = 500;

/** The dead letters of one service, with the outbox for the audit records of their changes. */
export interface AuditedDeadLetters extends DeadLetters {
  readonly audit: Audit;
}

/** The operators' listener to the dead letters of the services of this process (proto/eventlog/v1/admin.proto). */
export function deadLettersAdmin(services: readonly AuditedDeadLetters[]): RpcBinding {
  /** The dead letter, and the service that holds it. */
  const find = async (id: string): Promise<{ of: AuditedDeadLetters; deadLetter: DeadLetterDocument }> => {
    for (const of of services) {
      const deadLetter = await of.get(id);
      if (deadLetter) return { of, deadLetter };
    }
    throw new DomainError('not_found', `There is no dead letter ${id}.`);
  };
  return bind(DeadLettersAdminService, {
    async listDeadLetters({ limit, ended }) {
      const most = Math.min(limit || 100, 1000);
      const all = (await Promise.all(services.map((of) => of.list(most, ended)))).flat();
      all.sort((a, b) => a.setAsideAtMs - b.setAsideAtMs || a.offset - b.offset);
      return { deadLetters: all.slice(-most).map(summary) };
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
      const { of } = await find(id);
      const text = given(reason);
      const replayed = await of.audit.change(changeOf(id), (record) => of.replay(id, text, record));
      return { deadLetter: summary(replayed) };
    },
    async discardDeadLetter({ id, reason }) {
      const { of } = await find(id);
      const text = given(reason);
      const discarded = await of.audit.change(changeOf(id), (record) => of.discard(id, text, record));
      return { deadLetter: summary(discarded) };
    },
  });
}

function changeOf(target: string): Subject {
  return { target, fields: ['state', 'reason'] };
}

function given(reason: string): string {
  const text = reason.trim();
  if (text === '' || isLongerThan(text, mostCharacters)) {
    throw new DomainError('invalid_argument', `The reason must have 1 to ${mostCharacters} characters.`);
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
