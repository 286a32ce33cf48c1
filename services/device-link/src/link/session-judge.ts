import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type {
  AcceptResponse,
  DeliveryJudgeService,
  HeadsetOnlineResponse,
  ReadOffersResponse,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { inSpan } from '@headset-cloud/runtime/telemetry.ts';
import { newerFirmware } from '../domain/messages.ts';
import type { PermitAnswer } from '../domain/offer-book.ts';
import type { Limiter } from './limiter.ts';
import type { StartPermit } from './start-permits.ts';

/** Asks transactions, the only judge (rule B1), about one session. Throws what the calls throw. */
export class SessionJudge {
  readonly #judge: Client<typeof DeliveryJudgeService>;
  /** Bounds the judgements of an instance that run at a time, so that a restart is not a stampede. */
  readonly #limiter: Limiter;
  readonly #session: { readonly deviceId: string; readonly sessionEpoch: bigint };
  #clientVersion = '';
  #knowsRevoke = false;
  #afterUnresponsive = false;
  #firmwareVersion = '';

  constructor(
    judge: Client<typeof DeliveryJudgeService>,
    limiter: Limiter,
    session: { readonly deviceId: string; readonly epoch: number },
  ) {
    this.#judge = judge;
    this.#limiter = limiter;
    this.#session = { deviceId: session.deviceId, sessionEpoch: BigInt(session.epoch) };
  }

  /** The headset says what it is. */
  introduce(hello: Hello): void {
    this.#clientVersion = hello.clientVersion;
    this.#knowsRevoke = hello.knowsRevoke;
    this.#firmwareVersion = hello.firmwareVersion;
  }

  /** An inventory report names a firmware: start permits are judged by it from now on. */
  reportFirmware(version: string): void {
    this.#firmwareVersion = newerFirmware(this.#firmwareVersion, version);
  }

  /**
   * Has the session judged. `begin` is called when its turn has come, just before transactions are asked;
   * it answers false when nobody needs the judgement any more, and then nothing is asked.
   */
  judge(
    how: Pick<Hello, 'held'> & { readonly afterUnresponsive: boolean },
    begin: () => boolean,
  ): Promise<HeadsetOnlineResponse | undefined> {
    this.#afterUnresponsive = how.afterUnresponsive;
    return this.#headsetOnline(how, begin);
  }

  /** Has it judged once more; what the headset holds is not looked at (rule B5). */
  judgeAgain(begin: () => boolean): Promise<HeadsetOnlineResponse | undefined> {
    return this.#headsetOnline({ again: true, afterUnresponsive: this.#afterUnresponsive }, begin);
  }

  /** Reads the operations that a judgement left out, for as many of the ids as fit into an answer. */
  readOffers(ids: readonly number[]): Promise<ReadOffersResponse> {
    const { deviceId } = this.#session;
    return this.#limiter(() => this.#judge.readOffers({ deviceId, transactionIds: ids.map(BigInt) }));
  }

  /** Asks for a start permit, in the trace of the call that made the transaction where there is one. */
  async askPermit(id: number, parent: string): Promise<StartPermit> {
    const ask = () =>
      this.#judge.accept({
        ...this.#session,
        transactionId: BigInt(id),
        clientVersion: this.#clientVersion,
        firmwareVersion: this.#firmwareVersion,
      });
    const answer = await (parent ? inSpan('headset ready', { parent }, ask) : ask());
    return { answer: this.#permit(answer), reason: answer.dropReason };
  }

  /** A client that does not know revoke is not asked to: what it has started continues (rule A11). */
  #permit({ start, revoke }: AcceptResponse): PermitAnswer {
    if (revoke) return this.#knowsRevoke ? 'revoke' : 'start';
    return start ? 'start' : 'drop';
  }

  #headsetOnline(
    how: Parameters<Client<typeof DeliveryJudgeService>['headsetOnline']>[0],
    begin: () => boolean,
  ): Promise<HeadsetOnlineResponse | undefined> {
    return this.#limiter(async () => {
      if (!begin()) return undefined;
      return await this.#judge.headsetOnline({
        ...this.#session,
        clientVersion: this.#clientVersion,
        knowsRevoke: this.#knowsRevoke,
        readsOffers: true,
        ...how,
      });
    });
  }
}
