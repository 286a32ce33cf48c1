import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AuditRecord, AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import type { RecordDocument } from './documents.ts';

/** The document of a published record. */
export function documentOf(record: AuditRecord): RecordDocument {
  const { recordId: _id, action, applicationId, developerId, deviceId, target, fields, actor } = record;
  const {
    clientId = '',
    tokenId = '',
    operator = '',
    address = '',
    requestId = '',
    route = '',
  } = actor ?? {};
  return {
    ...{ _id, atMs: Number(record.atMs), action, call: action.split('.').at(-1) ?? '' },
    ...{ actor: clientId || operator, clientId, tokenId, operator, address, requestId, route },
    ...{ applicationId, developerId, deviceId, target, fields: [...fields] },
  };
}

/** A stored record for operators. */
export function messageOf(document: RecordDocument): MessageInitShape<typeof AuditRecordSchema> {
  const { _id, atMs, action, applicationId, developerId, deviceId, target, fields, ...rest } = document;
  const { clientId, tokenId, operator, address, requestId, route } = rest;
  return {
    ...{ recordId: _id, atMs: BigInt(atMs), action, applicationId, developerId, deviceId, target },
    ...{ fields: [...fields], actor: { clientId, tokenId, operator, address, requestId, route } },
  };
}

/** Fields of a record's log line, for a SIEM: names and ids, without empty fields. */
export function lineOf({
  _id,
  actor: _,
  call: __,
  storedAtMs: ___,
  ...document
}: RecordDocument): Record<string, unknown> {
  const known = Object.entries(document).filter(([, value]) => value !== '');
  return { recordId: _id, ...Object.fromEntries(known), at: new Date(document.atMs).toISOString() };
}
