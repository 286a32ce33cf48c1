import { randomUUID } from 'node:crypto';
import { currentAction, currentActor } from '@headset-cloud/rpc/actor.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { IndexDescription, Update } from '@headset-cloud/store/operations.ts';

/** A record as the changed document keeps it until it is published (ADR 0044). Plain data. */
export interface OwedRecord {
  readonly id: string;
  readonly atMs: number;
  readonly action: string;
  readonly clientId: string;
  readonly tokenId: string;
  readonly operator: string;
  readonly address: string;
  readonly requestId: string;
  readonly route: string;
  readonly applicationId: string;
  readonly developerId: string;
  readonly deviceId: string;
  readonly target: string;
  readonly fields: readonly string[];
}

/** Target of a change: ids and names, never values. */
export interface Subject {
  readonly applicationId?: string;
  readonly developerId?: string;
  readonly deviceId?: string;
  readonly target?: string;
  readonly fields?: readonly string[];
  /** The client of a call whose actor did not travel: a gateway of release 0.1.0 made it. */
  readonly clientId?: string;
}

/** Outbox fields of a document for its audit records. */
export interface OwingDocument {
  /** Records that are not published yet, oldest first; absent: none. */
  audit?: readonly OwedRecord[];
  /** When the newest pending record was stored, milliseconds since 1970; absent: no record is pending. */
  auditAtMs?: number;
}

/** Index that finds documents with pending records; part of the database steps of each service that has some. */
export const owingIndex: IndexDescription = { name: 'audit', key: { auditAtMs: 1 }, sparse: true };

/** Maximum length of the texts that callers and operators choose. */
const mostCharacters = 256;
const mostFields = 100;

/**
 * Maximum number of pending records in one document while the log is unavailable. MongoDB rejects documents over 16 MiB,
 * and every read of the document also reads its pending records.
 */
export const mostOwed = 1000;

/** Part of a filter: the document has space for another record. */
export const owesLess = { [`audit.${mostOwed - 1}`]: { $exists: false } };

/** Error for a change that matches no document because of `owesLess`. */
export function owesTooMuch(): DomainError {
  return new DomainError('unavailable', 'Changes cannot be recorded at the moment.', {
    internal: 'too much of the document waits for others already: audit records, events, work',
    retryAfterMs: 5000,
  });
}

/** The record of the call that runs. */
export function recordOf(atMs: number, subject: Subject): OwedRecord {
  const actor = currentActor();
  const { applicationId = '', developerId = '', deviceId = '', target = '', fields = [] } = subject;
  return {
    ...{ id: randomUUID(), atMs, action: currentAction() },
    clientId: actor ? actor.clientId : (subject.clientId ?? ''),
    ...{ tokenId: actor?.tokenId ?? '', operator: actor?.operator ?? '', address: actor?.address ?? '' },
    ...{ requestId: actor?.requestId ?? '', route: actor?.route ?? '' },
    ...{ applicationId, developerId, deviceId, target: cut(target, mostCharacters) },
    fields: fields.slice(0, mostFields).map((name) => cut(name, mostCharacters)),
  };
}

/** Outbox fields of a new document with this pending record. */
export function owingFields(record: OwedRecord): Required<OwingDocument> {
  return { audit: [record], auditAtMs: record.atMs };
}

/** Adds the pending record to an update of one document: both are stored, or neither. */
export function owing<T extends OwingDocument>(update: Update<T>, record: OwedRecord): Update<T> {
  const { $set, $push } = update as Update<OwingDocument>;
  return {
    ...update,
    $set: { ...$set, auditAtMs: record.atMs },
    $push: { ...$push, audit: record },
  } as unknown as Update<T>;
}

/** Names of the fields that are present. */
export function namesOf(given: object): string[] {
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
