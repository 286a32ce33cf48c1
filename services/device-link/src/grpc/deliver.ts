import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  DeliveryService,
  HandOver,
  HandOverOutcomeSchema,
} from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError, toDomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type DeliveryDeps, localOrForward, type Reached } from './local-or-forward.ts';

type Outcome = NonNullable<MessageInitShape<typeof HandOverOutcomeSchema>['kind']>;

/**
 * Dispatches offers to the headsets' sessions: directly to the sessions of this instance, and with one call per
 * instance to the sessions of other instances. If a call fails, only the offers in this call fail.
 */
export function deliver(
  deps: DeliveryDeps & { readonly logger: Logger },
): Handlers<typeof DeliveryService>['deliver'] {
  const failed = (error: unknown): Outcome => {
    const { code, message } = toDomainError(error);
    if (code === 'internal') deps.logger.error({ err: error }, 'a transaction could not be dispatched');
    return { case: 'failure', value: `${code}: ${message}` };
  };
  const dispatchHere = async (
    { deviceId, offer, sessionEpoch, previousTransactionId }: HandOver,
    forwarded: boolean,
  ): Promise<Reached<Outcome>> => {
    try {
      if (!offer) throw new DomainError('invalid_argument', 'offer is missing.');
      const forwardedForEpoch = forwarded ? Number(sessionEpoch) : undefined;
      return await localOrForward(deps, { deviceId, forwardedForEpoch }, (session) =>
        session.deliver(offer, Number(previousTransactionId)) ? accepted(BigInt(session.epoch)) : undefined,
      );
    } catch (error) {
      return { done: failed(error) };
    }
  };
  const forward = async (address: string, handOvers: readonly HandOver[]): Promise<Outcome[]> => {
    try {
      const { outcomes } = await deps.peers
        .at(address)
        .deliver({ handOvers: [...handOvers], forwarded: true });
      return handOvers.map((_, i) => {
        const kind = outcomes[i]?.kind;
        return kind?.case
          ? kind
          : failed(new DomainError('internal', 'The other instance returned too few outcomes.'));
      });
    } catch (error) {
      return handOvers.map(() => failed(error));
    }
  };
  return async ({ handOvers, forwarded }) => {
    const reached = await Promise.all(handOvers.map((handOver) => dispatchHere(handOver, forwarded)));
    const byPeer = Map.groupBy(
      reached.flatMap((r, i) =>
        typeof r === 'object' && 'peer' in r
          ? [{ i, address: r.peer, sessionEpoch: BigInt(r.sessionEpoch) }]
          : [],
      ),
      ({ address }) => address,
    );
    const outcomes = reached.map((r) => (typeof r === 'object' && 'done' in r ? r.done : accepted(0n)));
    await Promise.all(
      [...byPeer].map(async ([address, forwards]) => {
        const peerOutcomes = await forward(
          address,
          forwards.map(({ i, sessionEpoch }) => ({ ...(handOvers[i] as HandOver), sessionEpoch })),
        );
        forwards.forEach(({ i }, n) => {
          outcomes[i] = peerOutcomes[n] as Outcome;
        });
      }),
    );
    return { outcomes: outcomes.map((kind) => ({ kind })) };
  };
}

function accepted(sessionEpoch: bigint): Outcome {
  return { case: 'sessionEpoch', value: sessionEpoch };
}
