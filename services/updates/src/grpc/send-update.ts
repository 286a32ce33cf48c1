import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { ArtifactSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type OperationInit, type OperationKind, operationRequest } from '@headset-cloud/proto/operations.ts';
import { issueTicket } from '../tickets.ts';
import type { UpdateContent } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * Sends an update to a headset. `choose` checks the catalogue and returns the content, or throws. A repeat with the
 * same Idempotency-Key does not call `choose` again, because the first call was valid. The devices service makes the
 * other checks and creates the transaction, once per key.
 */
export async function sendUpdate(
  deps: HandlerDependencies,
  call: {
    caller: Caller;
    deviceId: string;
    choose: () => Promise<UpdateContent>;
    operation: (artifact: MessageInitShape<typeof ArtifactSchema>) => OperationInit & { case: OperationKind };
  },
): Promise<{ transactionId: bigint }> {
  const { caller, deviceId } = call;
  const transactionId = await deps.idempotency.run(caller, {
    draw: async () => ({ ...(await call.choose()) }),
    work: async (artifact) => {
      const operation = call.operation({
        sizeBytes: BigInt(artifact.sizeBytes),
        sha256: Buffer.from(artifact.sha256, 'hex'),
        ticket: issueTicket(deps.secrets, deviceId, artifact),
      });
      return (await deps.devices.sendOperation({ caller, deviceId, ...operationRequest(operation) }))
        .transactionId;
    },
  });
  return { transactionId };
}
