import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Canceler } from '../cancel.ts';
import { type Delivery, toOffer } from '../delivery.ts';
import { tooOldMessage, type Versions } from '../domain/client-version.ts';
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
  const { store, outbox, delivery, clock } = deps;
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
      const id = Number(request.transactionId);
      const floorEpoch = (await store.floorOf(request.deviceId))?.epoch ?? 0;
      const session = { deviceId: request.deviceId, epoch: Number(request.sessionEpoch) };
      const accept = async (meets?: Versions): Promise<boolean> => {
        const accepted = await store.accept(
          id,
          { ...session, ...(meets && { meets }) },
          floorEpoch,
          clock.now(),
        );
        deps.failpoints('transactions.accepted');
        if (!accepted) return false;
        delivery.accepted(id);
        outbox.publish(accepted);
        return true;
      };
      if (await accept()) return { start: true };
      let t = await store.get(id);
      const minimum = t?.minimum;
      const needsSome = minimum && (minimum.client || minimum.firmware);
      if (needsSome && (t?.status === 'created' || t?.status === 'published')) {
        // Few operations need a headset of some age; only they pay for a second look.
        const message = tooOldMessage(
          { client: request.clientVersion, firmware: request.firmwareVersion },
          minimum,
        );
        if (message === undefined) {
          if (await accept(minimum)) return { start: true };
        } else {
          const refused = await store.refuse(id, session, floorEpoch, message, clock.now());
          if (refused) outbox.publish(refused);
        }
        t = await store.get(id);
      }
      if (!t || t.deviceId !== request.deviceId) return { start: false, dropReason: 'unknown transaction' };
      // Sent to a newer session, or judged for one: that session's headset asks for itself (rule B1).
      if (t.sentEpoch > session.epoch) return { start: false, dropReason: 'A newer session has it.' };
      if (t.status === 'accepted' && t.activationEpoch >= floorEpoch) {
        // Asked again for one that was accepted before: the permit stands, unless it is to be canceled.
        return t.wish ? { start: false, revoke: true, dropReason: t.wish } : { start: true };
      }
      return { start: false, dropReason: t.endMessage || 'The transaction is over.' };
    },
  });
}
