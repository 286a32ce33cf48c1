import { DomainError, isTransient } from '@headset-cloud/kit/errors.ts';
import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { DevicesService } from '@headset-cloud/proto/headset/devices/v1/service_pb.ts';
import { requireActivated } from '../domain/activation.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import { requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** The message of the callback that a command without a target causes (ruling A8). */
const noTarget = 'None of action, package and classpath is given.';

/**
 * PUT …/devices/{deviceId}/commands: two point reads at once, then one create. The create carries
 * the epoch of the activation that was seen, so that transactions refuses it after a deactivation.
 */
export function sendCommandHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['sendCommand'] {
  return async ({ caller: given, deviceId, command }) => {
    const caller = requireCaller(given);
    const { applicationId } = caller;
    if (!command) throw new DomainError('invalid_argument', 'The call carries no command.');
    const hasTarget = command.action || command.package || command.classpath;

    const send = async (transactionId: bigint) => {
      const [standing, destination] = await Promise.all([
        deps.reader.standing(deviceId),
        deps.applications.destination(applicationId),
      ]);
      if (!destination) throw refusals.applicationForbidden();
      requireActivated(standing, applicationId);
      requireDestination(destination);
      const created = await deps.transactions.createTransaction({
        transactionId,
        deviceId,
        applicationId,
        operationId: 'put-v1-applications-devices-commands',
        activationEpoch: BigInt(standing.epoch),
        operation: { kind: { case: 'command', value: command } },
        failMessage: hasTarget ? '' : noTarget,
      });
      return created.transactionId;
    };

    // A repeat whose first run created the command, but died before it answered, gets that answer, even
    // if the device was deactivated since.
    const answerOfEarlierRun = async (drawn: bigint, refusal: unknown): Promise<bigint> => {
      if (isTransient(refusal)) throw refusal;
      try {
        await deps.transactions.getTransaction({ applicationId, transactionId: drawn });
        return drawn;
      } catch (error) {
        throw error instanceof DomainError && error.code === 'not_found' ? refusal : error;
      }
    };

    // Without a key transactions draws the id itself, which saves a call.
    if (!caller.idempotency) return { transactionId: await send(0n) };
    const transactionId = await deps.idempotency.run(caller, {
      draw: async () => (await deps.transactions.drawTransactionId({ deviceId })).transactionId,
      work: (drawn) => send(drawn).catch((refusal) => answerOfEarlierRun(drawn, refusal)),
    });
    return { transactionId };
  };
}
