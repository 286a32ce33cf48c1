import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { permitStart } from '../delivery/start-permit.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Answers whether a headset may start a transaction that it was offered. */
export function acceptHandler(deps: HandlerDependencies): Handlers<typeof DeliveryJudgeService>['accept'] {
  return async (request) => {
    const permit = await permitStart(deps, {
      transactionId: Number(request.transactionId),
      deviceId: request.deviceId,
      sessionEpoch: Number(request.sessionEpoch),
      versions: { client: request.clientVersion, firmware: request.firmwareVersion },
    });
    if (permit.kind === 'start') return { start: true };
    return { start: false, revoke: permit.kind === 'revoke', dropReason: permit.reason };
  };
}
