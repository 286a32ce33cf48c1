import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Binary } from 'mongodb';
import type { PendingAuditFields } from '../audit/record.ts';

/** Why an event became a dead letter. This version writes only `poison`; release 0.1.0 also wrote the other kinds. */
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
  /** JSON text, because header names may contain characters that are not allowed in field names. */
  headers: string;
  publishedAtMs: number;
  kind: DeadLetterKind;
  state: DeadLetterState;
  /** True until it was replayed or discarded. */
  open: boolean;
  /** Always false in this version. True in documents of release 0.1.0 for which later events of the same key wait. */
  blocking: boolean;
  /** Error of the last try. */
  error: string;
  /** The operator's reason; empty when no operator replayed or discarded it. */
  reason: string;
  setAsideAtMs: number;
  /** Id of the replay that has claimed the dead letter; empty without a claim. */
  claim: string;
  /** End of the claim; 0 without a claim. */
  claimedUntilMs: number;
  /** The last steps of its history. */
  steps: { atMs: number; what: string }[];
  /**
   * End of the retention period. Absent while an operator's replay is in progress, so that the document cannot expire.
   */
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

/** Returns the original event, marked as replayed. */
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
