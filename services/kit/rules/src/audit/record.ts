import { randomUUID } from 'node:crypto';
import { currentAction, currentActor } from '@headset-cloud/rpc/actor.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { IndexDescription, Update } from '@headset-cloud/store/operations.ts';

/** A record in the changed document, where it is stored until it is published (ADR 0044). */
export interface PendingAuditRecord {
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

/** Target of a change. Contains ids and names of fields, never values. */
export interface Subject {
  readonly applicationId?: string;
  readonly developerId?: string;
  readonly deviceId?: string;
  readonly target?: string;
  readonly fields?: readonly string[];
  /** The client of a call without an actor; a gateway of release 0.1.0 sends no actor. */
  readonly clientId?: string;
}

/** Outbox fields of a document for its audit records. */
export interface PendingAuditFields {
  /** Records that are not published yet, oldest first; absent: none. */
  audit?: readonly PendingAuditRecord[];
  /** When the newest pending record was stored, milliseconds since 1970; absent: no record is pending. */
  auditAtMs?: number;
}

/** Index that finds documents with pending records; part of the database steps of each service that has some. */
export const pendingAuditIndex: IndexDescription = { name: 'audit', key: { auditAtMs: 1 }, sparse: true };

/** Maximum length of the texts that callers and operators choose. */
const maxCharacters = 256;
const maxFields = 100;

/**
 * Maximum number of pending records in one document, which is reached only while the log is unavailable. MongoDB
 * rejects documents over 16 MiB, and every read of the document also reads its pending records.
 */
export const mostPendingRecords = 1000;

/** Part of a filter: the document has space for another record. */
export const hasSpaceForRecord = { [`audit.${mostPendingRecords - 1}`]: { $exists: false } };

/** Error for a change that matches no document because of `hasSpaceForRecord`. */
export function tooMuchPending(): DomainError {
  return new DomainError('unavailable', 'Changes cannot be recorded at the moment.', {
    internal: 'the document has too many pending audit records, events or operations',
    retryAfterMs: 5000,
  });
}

/** Returns the record of the current call. */
export function recordOf(atMs: number, subject: Subject): PendingAuditRecord {
  const actor = currentActor();
  const { applicationId = '', developerId = '', deviceId = '', target = '', fields = [] } = subject;
  return {
    ...{ id: randomUUID(), atMs, action: currentAction() },
    clientId: actor ? actor.clientId : (subject.clientId ?? ''),
    ...{ tokenId: actor?.tokenId ?? '', operator: actor?.operator ?? '', address: actor?.address ?? '' },
    ...{ requestId: actor?.requestId ?? '', route: actor?.route ?? '' },
    ...{ applicationId, developerId, deviceId, target: cut(target, maxCharacters) },
    fields: fields.slice(0, maxFields).map((name) => cut(name, maxCharacters)),
  };
}

/** Outbox fields of a new document with this pending record. */
export function pendingAuditFields(record: PendingAuditRecord): Required<PendingAuditFields> {
  return { audit: [record], auditAtMs: record.atMs };
}

/** Adds the pending record to an update of one document: both are stored, or neither. */
export function withAuditRecord<T extends PendingAuditFields>(
  update: Update<T>,
  record: PendingAuditRecord,
): Update<T> {
  const { $set, $push } = update as Update<PendingAuditFields>;
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
