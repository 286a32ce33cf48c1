import type { Binary } from 'mongodb';
import type { OwingDocument } from '../audit/record.ts';
import type { LogEvent } from '../eventlog/types.ts';
import type { IndexDescription } from '../store/operations.ts';

/** Why an event was set aside: it cannot be handled. The other kinds are those of release 0.1.0. */
export type LetterKind = 'poison' | 'newer-version' | 'behind';

export type LetterState = 'waiting' | 'replaying' | 'replayed' | 'discarded';

/** One event that a consumer group has set aside, in the database of the service that the group belongs to. */
export interface DeadLetterDocument extends OwingDocument {
  /** topic/partition:offset/group; unique, so that setting the event aside again changes nothing. */
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
  kind: LetterKind;
  state: LetterState;
  /** True until it was replayed or discarded. */
  open: boolean;
  /** False; true in documents of release 0.1.0 behind which later events of the key wait. */
  blocking: boolean;
  /** Error of the last try. */
  error: string;
  /** The operator's reason; empty when no operator replayed or discarded it. */
  reason: string;
  setAsideAtMs: number;
  /** Who is replaying it, and until when; empty and 0 when nobody is. */
  claim: string;
  claimedUntilMs: number;
  /** The last steps of its history. */
  steps: { atMs: number; what: string }[];
  /** Absent while an operator's replay of it is under way, however long. */
  expiresAt?: Date;
}

export const lettersCollection = 'deadLetters';

/** Stand in the steps of each service that subscribes (schema/steps.ts). */
export const letterIndexes: IndexDescription[] = [
  { name: 'line', key: { group: 1, topic: 1, blocking: 1, key: 1, offset: 1 } },
  { name: 'replays', key: { group: 1, topic: 1, state: 1, claimedUntilMs: 1 } },
  { name: 'open', key: { open: 1, setAsideAtMs: -1 } },
  { name: 'newest', key: { setAsideAtMs: -1 } },
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

export function deadLetterId(event: Pick<LogEvent, 'topic' | 'position'>, group: string): string {
  return `${event.topic}/${event.position}/${group}`;
}

/** The event as it was. */
export function eventOf(letter: DeadLetterDocument): LogEvent {
  const { value } = letter;
  return {
    topic: letter.topic,
    key: letter.key,
    value: value instanceof Uint8Array ? value : value.buffer,
    headers: JSON.parse(letter.headers),
    position: `${letter.partition}:${letter.offset}`,
    timestampMs: letter.publishedAtMs,
    replayed: true,
  };
}
