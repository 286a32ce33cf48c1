import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { grantStart } from '../dispatch/start-grant.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Returns whether a headset may start an offered transaction. */
export function acceptHandler(deps: HandlerDependencies): Handlers<typeof DeliveryJudgeService>['accept'] {
  return async (request) => {
    const answer = await grantStart(deps, {
      transactionId: Number(request.transactionId),
      deviceId: request.deviceId,
      sessionEpoch: Number(request.sessionEpoch),
      versions: { client: request.clientVersion, firmware: request.firmwareVersion },
    });
    if (answer.kind === 'start') return { start: true };
    return { start: false, revoke: answer.kind === 'revoke', dropReason: answer.reason };
  };
}
