import { AuditAdminService } from '@headset-cloud/proto/audit/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { auditActions, isAuditAction } from '@headset-cloud/rules/audit/actions.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { messageOf } from './records.ts';
import type { AuditStore } from './store.ts';

const maxListed = 1000;
const maxQuoted = 100;

/** The operators' view of the audit store. */
export function auditAdmin(store: Pick<AuditStore, 'list'>): RpcBinding {
  return bind(AuditAdminService, {
    async listAuditRecords({ actor, applicationId, developerId, deviceId, action, ...more }) {
      if (more.limit > maxListed) {
        throw new DomainError('invalid_argument', `limit ${more.limit} is more than ${maxListed}.`);
      }
      if (action !== '' && !isAuditAction(action)) {
        const actions = auditActions.join(', ');
        throw new DomainError(
          'invalid_argument',
          `action ${JSON.stringify(cut(action, maxQuoted))} is not one of ${actions}, with or without the part before the dot.`,
        );
      }
      const given = { actor, applicationId, developerId, deviceId, action, cursor: more.cursor };
      const { records, nextCursor } = await store.list({
        ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
        ...(more.fromMs > 0n && { fromMs: Number(more.fromMs) }),
        ...(more.toMs > 0n && { toMs: Number(more.toMs) }),
        limit: more.limit || 100,
      });
      return { records: records.map(messageOf), nextCursor };
    },
  });
}
