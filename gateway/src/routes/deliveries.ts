import type { OwnAttempt, OwnDelivery, Recovery } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import type { GatewayClients } from '../clients.ts';
import { invalidBody } from '../http/errors.ts';
import { bodyOf, timeOf } from './decode.ts';
import { dateOf } from './encode.ts';
import { typesOf, typesOfBody } from './events.ts';
import type { Handlers } from './types.ts';

const dateUnlessZero = (ms: bigint) => (ms === 0n ? null : dateOf(ms));

function attemptJson({ atMs, durationMs, statusCode, reason, message, host, answer }: OwnAttempt): object {
  return {
    at: dateOf(atMs),
    durationMs,
    status: statusCode || null,
    reason: reason || null,
    message: message || null,
    host: host || null,
    answer: answer || null,
  };
}

function deliveryJson(delivery: OwnDelivery | undefined): object {
  if (!delivery) throw new Error('the notifier returned no delivery');
  const { deliveryId, type, destination, deviceId, transactionId, state, attempts, lastAttempt } = delivery;
  return {
    ...{ webhookId: deliveryId, type, destination, deviceId: deviceId || null },
    transactionId: Number(transactionId) || null,
    ...{ state, attemptCount: attempts },
    createdAt: dateOf(delivery.createdAtMs),
    nextAttemptAt: dateUnlessZero(delivery.nextAttemptAtMs),
    endedAt: dateUnlessZero(delivery.endedAtMs),
    lastAttempt: lastAttempt ? attemptJson(lastAttempt) : null,
  };
}

function recoveryJson(recovery: Recovery | undefined): object {
  if (!recovery) throw new Error('the notifier returned no recovery');
  const { recoveryId, total, done, beganAtMs, endedAtMs } = recovery;
  return {
    ...{ recoveryId, state: endedAtMs === 0n ? 'running' : 'ended', total, done },
    ...{ beganAt: dateOf(beganAtMs), endedAt: dateUnlessZero(endedAtMs) },
  };
}

interface RecoverBody {
  readonly since: string;
  readonly destination?: string;
  readonly types?: readonly string[];
  readonly deviceId?: string;
  readonly delivered?: boolean;
  readonly dryRun?: boolean;
}

/** Milliseconds since 1970. Throws invalid_body for a leap second, which the schema accepts and JavaScript does not. */
function sinceOf(since: string): bigint {
  const ms = Date.parse(since);
  if (Number.isNaN(ms)) throw invalidBody('/since', 'must be a date and time.');
  return BigInt(Math.max(0, ms));
}

/** Deliveries of callbacks, and sending them again. */
export function deliveryHandlers({ deliveries }: Pick<GatewayClients, 'deliveries'>): Handlers {
  return {
    'get-v1-applications-deliveries': async ({ applicationId, query }) => {
      const {
        state = '',
        destination = '',
        types,
        deviceId = '',
        transactionId = 0,
        after = '',
        limit,
      } = query;
      const [fromMs, toMs] = [timeOf(query, 'from'), timeOf(query, 'to')];
      const found = await deliveries.findDeliveries({
        ...{ applicationId, state: String(state), destination: String(destination), types: typesOf(types) },
        ...{ deviceId: String(deviceId), transactionId: BigInt(transactionId) },
        ...{ after: String(after), limit: Number(limit) },
        ...(fromMs !== undefined && { fromMs }),
        ...(toMs !== undefined && { toMs }),
      });
      return {
        status: 200,
        json: { deliveries: found.deliveries.map(deliveryJson), cursor: found.cursor || null },
      };
    },

    'get-v1-applications-deliveries-delivery': async ({ applicationId, webhookId }) => {
      const { delivery, attempts, body } = await deliveries.readDelivery({
        applicationId,
        deliveryId: webhookId,
      });
      return { status: 200, json: { ...deliveryJson(delivery), attempts: attempts.map(attemptJson), body } };
    },

    'post-v1-applications-deliveries-redeliver': async (call) => {
      const { caller, webhookId } = call;
      const { force = false } = bodyOf<{ force?: boolean }>(call);
      const { delivery } = await deliveries.sendAgain({ caller, deliveryId: webhookId, force });
      return { status: 200, json: deliveryJson(delivery) };
    },

    'post-v1-applications-deliveries-recover': async (call) => {
      const { caller } = call;
      const { since, destination, types = [], deviceId, delivered, dryRun } = bodyOf<RecoverBody>(call);
      const { count, recovery } = await deliveries.recover({
        ...{ caller, sinceMs: sinceOf(since), destination: destination ?? '' },
        ...{ types: typesOfBody(types), deviceId: deviceId ?? '' },
        ...{ delivered: delivered ?? false, dryRun: dryRun ?? false },
      });
      return { status: 200, json: { count, recovery: recovery ? recoveryJson(recovery) : null } };
    },

    'get-v1-applications-recoveries-recovery': async ({ applicationId, recoveryId }) => {
      const { recovery } = await deliveries.readRecovery({ applicationId, recoveryId });
      return { status: 200, json: recoveryJson(recovery) };
    },
  };
}
