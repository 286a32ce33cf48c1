import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type {
  AcceptResponse,
  DeliveryJudgeService,
  HeadsetOnlineResponse,
  ReadOffersResponse,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { inSpan } from '@headset-cloud/runtime/telemetry.ts';
import type { Limiter } from '../calls/limiter.ts';
import { newerFirmware } from '../domain/messages.ts';
import type { GrantAnswer } from '../domain/offer-queue.ts';
import type { StartGrant } from './start-grants.ts';

/**
 * One session's calls to transactions, which alone decides about transactions (rule B1). Adds the session's data to
 * each call. Throws the errors of the calls.
 */
export class TransactionsClient {
  readonly #transactions: Client<typeof DeliveryJudgeService>;
  /** Limits the instance's concurrent reconciliations, so that a restart does not overload transactions. */
  readonly #limiter: Limiter;
  readonly #session: { readonly deviceId: string; readonly sessionEpoch: bigint };
  #clientVersion = '';
  #knowsRevoke = false;
  #afterUnresponsive = false;
  #firmwareVersion = '';

  constructor(
    transactions: Client<typeof DeliveryJudgeService>,
    limiter: Limiter,
    session: { readonly deviceId: string; readonly epoch: number },
  ) {
    this.#transactions = transactions;
    this.#limiter = limiter;
    this.#session = { deviceId: session.deviceId, sessionEpoch: BigInt(session.epoch) };
  }

  /** Stores the headset's versions and abilities, which are sent with later calls. */
  setHello(hello: Hello): void {
    this.#clientVersion = hello.clientVersion;
    this.#knowsRevoke = hello.knowsRevoke;
    this.#firmwareVersion = hello.firmwareVersion;
  }

  /** Stores the firmware version of an inventory report, which is sent with later requests for start grants. */
  reportFirmware(version: string): void {
    this.#firmwareVersion = newerFirmware(this.#firmwareVersion, version);
  }

  /**
   * Reconciles the session for the first time. `begin` is called just before the call to transactions, after the wait
   * for the limiter. If `begin` returns false, there is no call and the result is undefined.
   */
  reconcileFirst(
    how: Pick<Hello, 'held'> & { readonly afterUnresponsive: boolean },
    begin: () => boolean,
  ): Promise<HeadsetOnlineResponse | undefined> {
    this.#afterUnresponsive = how.afterUnresponsive;
    return this.#headsetOnline(how, begin);
  }

  /** Reconciles the session again, without the transactions that the headset holds (rule B5). */
  reconcileAgain(begin: () => boolean): Promise<HeadsetOnlineResponse | undefined> {
    return this.#headsetOnline({ again: true, afterUnresponsive: this.#afterUnresponsive }, begin);
  }

  /** Reads offers with their operations. The response contains the offers of as many ids as fit into one message. */
  readOffers(ids: readonly number[]): Promise<ReadOffersResponse> {
    const { deviceId } = this.#session;
    return this.#limiter(() => this.#transactions.readOffers({ deviceId, transactionIds: ids.map(BigInt) }));
  }

  /**
   * Requests a start grant. `parent`: trace context of the call that created the transaction; empty without a trace.
   */
  async requestStartGrant(id: number, parent: string): Promise<StartGrant> {
    const accept = () =>
      this.#transactions.accept({
        ...this.#session,
        transactionId: BigInt(id),
        clientVersion: this.#clientVersion,
        firmwareVersion: this.#firmwareVersion,
      });
    const answer = await (parent ? inSpan('headset ready', { parent }, accept) : accept());
    return { answer: this.#grant(answer), reason: answer.dropReason };
  }

  /**
   * Converts the answer of transactions. A client without support for revoke gets `start` instead, so that the
   * transaction that it has started continues (rule A11).
   */
  #grant({ start, revoke }: AcceptResponse): GrantAnswer {
    if (revoke) return this.#knowsRevoke ? 'revoke' : 'start';
    return start ? 'start' : 'drop';
  }

  #headsetOnline(
    how: Parameters<Client<typeof DeliveryJudgeService>['headsetOnline']>[0],
    begin: () => boolean,
  ): Promise<HeadsetOnlineResponse | undefined> {
    return this.#limiter(async () => {
      if (!begin()) return undefined;
      return await this.#transactions.headsetOnline({
        ...this.#session,
        clientVersion: this.#clientVersion,
        knowsRevoke: this.#knowsRevoke,
        readsOffers: true,
        ...how,
      });
    });
  }
}
