import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { openStatuses } from '../domain/state.ts';
import { statusOf, toMessage } from '../messages.ts';
import type { Queries } from '../ports/queries.ts';
import { applicationForgetHandler } from './forget-application.ts';
import { type ForgetDependencies, forgetHandler } from './forget-device.ts';

/** The operators' listener of transactions. */
export function transactionsAdmin(store: Queries, forgetting: ForgetDependencies): RpcBinding {
  return bind(TransactionsAdminService, {
    ...forgetHandler(forgetting),
    ...applicationForgetHandler(forgetting),
    async listTransactionsOfDevice(request) {
      if (!/^\d{15}$/.test(request.deviceId)) {
        throw new DomainError('invalid_argument', 'device_id: an IMEI has 15 digits.');
      }
      const limit = Math.min(request.limit || 100, 1000);
      return {
        transactions: (await store.listOfDevice(request.deviceId, request.openOnly, limit)).map(toMessage),
      };
    },
    async findTransactions({ applicationId, status, createdBeforeMs, limit }) {
      const one = statusOf(status);
      if (applicationId === '' && one !== undefined && !openStatuses.includes(one)) {
        throw new DomainError('invalid_argument', `status: ${one} ones are found by their application only.`);
      }
      const found = await store.find({
        applicationId: applicationId || undefined,
        statuses: one === undefined ? openStatuses : [one],
        createdBeforeMs: createdBeforeMs === 0n ? undefined : Number(createdBeforeMs),
        limit: Math.min(limit || 100, 1000),
      });
      return { transactions: found.map(toMessage) };
    },
    async showTransaction(request) {
      const t = await store.get(Number(request.transactionId));
      if (!t) throw new DomainError('not_found', `Transaction ${request.transactionId} does not exist.`);
      return {
        transaction: toMessage(t),
        attempts: t.attempts,
        sessionEpoch: BigInt(t.sentEpoch),
        activationEpoch: BigInt(t.activationEpoch),
        endMessage: t.endMessage,
        outboxSize: t.outbox.length,
        wishedCancellation: t.wish,
        wishedAtMs: BigInt(t.wishedAtMs),
      };
    },
  });
}
