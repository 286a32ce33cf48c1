import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Canceler } from '../cancel.ts';
import { permitStart } from '../delivery/start-permit.ts';
import { type Delivery, toOffer } from '../delivery.ts';
import { readOffers } from '../offers.ts';
import { takeOnline } from '../online.ts';
import type { Outbox } from '../outbox.ts';
import type { TransactionStore } from '../ports.ts';
import { heldOf } from './held.ts';

/** Offers that one question may ask for. */
const mostOffersRead = 64;

/** What device-link asks: what to offer to a new session, and whether a transaction may start. */
export function deliveryJudgeRpc(deps: {
  store: TransactionStore;
  outbox: Outbox;
  canceler: Canceler;
  delivery: Delivery;
  clock: Clock;
  retryLimit: number;
  retryIntervalMs: number;
  failpoints: Failpoints;
}): RpcBinding {
  const { store } = deps;
  return bind(DeliveryJudgeService, {
    async headsetOnline(request) {
      const { offers, starts, revocations, drops, through } = await takeOnline(deps, {
        deviceId: request.deviceId,
        epoch: Number(request.sessionEpoch),
        held: heldOf(request.held),
        again: request.again,
        readsOffers: request.readsOffers,
        knowsRevoke: request.knowsRevoke,
        afterUnresponsive: request.afterUnresponsive,
      });
      return {
        offers: offers.map(({ id, attempt, transaction }) =>
          transaction ? toOffer(transaction, attempt) : { transactionId: BigInt(id), attempt },
        ),
        startTransactionIds: starts.map(BigInt),
        revocations: revocations.map(({ id, message }) => ({ transactionId: BigInt(id), reason: message })),
        dropTransactionIds: drops.map(BigInt),
        judgedThroughId: BigInt(through),
      };
    },

    async readOffers({ deviceId, transactionIds }) {
      const ids = transactionIds.slice(0, mostOffersRead).map(Number);
      const offers = await readOffers(
        store,
        ids.map((id) => ({ id, attempts: 0 })),
        true,
      );
      // From the first one that did not go into the answer on, all are asked for again.
      const left = offers.find((o) => !o.transaction);
      return {
        offers: offers.flatMap(({ transaction: t }) => (t?.deviceId === deviceId ? [toOffer(t)] : [])),
        answered: left ? ids.indexOf(left.id) : ids.length,
      };
    },

    async accept(request) {
      const permit = await permitStart(deps, {
        transactionId: Number(request.transactionId),
        deviceId: request.deviceId,
        sessionEpoch: Number(request.sessionEpoch),
        versions: { client: request.clientVersion, firmware: request.firmwareVersion },
      });
      if (permit.kind === 'start') return { start: true };
      return { start: false, revoke: permit.kind === 'revoke', dropReason: permit.reason };
    },
  });
}
