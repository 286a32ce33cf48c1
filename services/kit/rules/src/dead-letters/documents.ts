import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Binary } from 'mongodb';
import type { PendingAuditFields } from '../audit/record.ts';

/** Why an event became a dead letter: it cannot be handled. Release 0.1.0 also wrote the other kinds. */
export type DeadLetterKind = 'poison' | 'newer-version' | 'behind';

export type DeadLetterState = 'waiting' | 'replaying' | 'replayed' | 'discarded';

/** One event that a consumer group could not handle, in the database of the group's service. */
export interface DeadLetterDocument extends PendingAuditFields {
  /** topic/partition:offset/group; unique, so that storing the event again changes nothing. */
  _id: string;
  topic: string;
  group: string;
  key: string;
  partition: number;
  offset: number;
  value: Binary | Uint8Array;
  /** As JSON text, because header names may contain characters that field names may not. */
  headers: string;
  publishedAtMs: number;
  kind: DeadLetterKind;
  state: DeadLetterState;
  /** True until it was replayed or discarded. */
  open: boolean;
  /** False; true in documents of release 0.1.0 behind which later events of the key wait. */
  blocking: boolean;
  /** Error of the last try. */
  error: string;
  /** The operator's reason; empty when no operator replayed or discarded it. */
  reason: string;
  setAsideAtMs: number;
  /** Holder and end of a replay's claim; empty and 0 without a claim. */
  claim: string;
  claimedUntilMs: number;
  /** The last steps of its history. */
  steps: { atMs: number; what: string }[];
  /** Absent while an operator's replay is in progress, however long it takes. */
  expiresAt?: Date;
}

export const deadLettersCollection = 'deadLetters';

/** Part of the schema steps of each service that subscribes (schema/steps.ts). */
export const deadLetterIndexes: IndexDescription[] = [
  { name: 'line', key: { group: 1, topic: 1, blocking: 1, key: 1, offset: 1 } },
  { name: 'replays', key: { group: 1, topic: 1, state: 1, claimedUntilMs: 1 } },
  { name: 'open', key: { open: 1, setAsideAtMs: -1 } },
  { name: 'newest', key: { setAsideAtMs: -1 } },
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

export function deadLetterId(event: Pick<LogEvent, 'topic' | 'position'>, group: string): string {
  return `${event.topic}/${event.position}/${group}`;
}

/** The original event. */
export function eventOf(deadLetter: DeadLetterDocument): LogEvent {
  const { value } = deadLetter;
  return {
    topic: deadLetter.topic,
    key: deadLetter.key,
    value: value instanceof Uint8Array ? value : value.buffer,
    headers: JSON.parse(deadLetter.headers),
    position: `${deadLetter.partition}:${deadLetter.offset}`,
    timestampMs: deadLetter.publishedAtMs,
    replayed: true,
  };
}
