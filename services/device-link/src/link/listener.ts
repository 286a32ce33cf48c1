import { status } from '@grpc/grpc-js';
import type { ConnectRequest, Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Refusals } from '@headset-cloud/runtime/refusals.ts';
import { limits } from '../domain/limits.ts';
import { checkHello } from '../domain/messages.ts';
import type { TokenClaims } from '../domain/token.ts';
import type { Registration, SessionDirectory } from '../ports.ts';
import { type createAuthenticator, keyNotAccepted, LinkFailure } from './authenticate.ts';
import type { Displacements } from './displacements.ts';
import type { SessionHub } from './hub.ts';
import type { KeyHolder } from './key-check.ts';
import type { StreamRefusal } from './metrics.ts';
import { retryWhile } from './retry.ts';
import { Session, type SessionDeps } from './session.ts';
import { cutOff, type Incoming, type LinkCall, UnreadableMessage } from './wire.ts';

export interface ListenerDeps {
  readonly authenticate: ReturnType<typeof createAuthenticator>;
  readonly directory: SessionDirectory;
  readonly hub: SessionHub;
  readonly session: SessionDeps;
  readonly clock: Clock;
  readonly time: Time;
  readonly logger: Logger;
  readonly helloDeadlineMs: number;
  readonly maxSessions: number;
  /** Streams without a session that are held beyond `maxSessions`; a crowd that comes back may take the sessions' room. */
  readonly maxWaiting: number;
  /** The port's connections. */
  readonly connections: Pick<Connections, 'busy' | 'idle' | 'addressOf'>;
  /** Counts and logs whom it does not let in. */
  readonly refused: Refusals<StreamRefusal>;
  /** Counts sessions that end because a newer one of their device has begun. */
  readonly displacements: Pick<Displacements, 'add'>;
  readonly instanceId: string;
  /** Tells another instance that it holds an older session. */
  readonly closeElsewhere: (address: string, deviceId: string, belowEpoch: number) => Promise<void>;
}

/** A write whose answer did not come is visible after this time, or never; milliseconds. */
const doubtfulMs = 60_000;
/** A hello that comes later after its token was judged has the token judged again; milliseconds. */
const lateHelloMs = 2000;

/** A stream without a session yet. */
interface Visitor {
  readonly call: LinkCall;
  /** When its hello must have come, by the monotonic clock. */
  readonly deadlineMs: number;
  /** Its key, as soon as its token was accepted. */
  holder?: KeyHolder;
  /** Whose hello is awaited: nothing else is in the way. */
  awaits?: string;
  /** When a refused peer that does not leave is cut off, by the monotonic clock; undefined: it is not refused. */
  cutOffAtMs?: number;
}

/** Lets headsets in: token, hello, registration, session. */
export class Listener {
  readonly #deps: ListenerDeps;
  readonly #visitors = new Set<Visitor>();
  /** Streams that wait for their hello, by device. */
  readonly #awaited = new Map<string, Visitor>();
  /** Registrations that the hub does not know yet, by device. */
  readonly #entering = new Map<string, number>();
  /** Devices of which a registration failed, and until when its write may still become visible. */
  readonly #doubtfulUntilMs = new Map<string, number>();

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
  }

  /** The handler of HeadsetLinkService.Connect. */
  readonly connect = (call: LinkCall): void => {
    const visitor: Visitor = {
      call,
      deadlineMs: this.#monotonicMs() + this.#deps.helloDeadlineMs,
    };
    if (!this.#makeRoom()) {
      this.#sendAway(visitor);
      return;
    }
    this.#visitors.add(visitor);
    call.once('cancelled', () => this.#visitors.delete(visitor));
    this.#receive(visitor).catch((error) => {
      if (!(error instanceof LinkFailure)) {
        this.#deps.logger.error({ err: error }, 'a headset could not be let in');
      }
      this.#refuse(
        visitor,
        error instanceof LinkFailure
          ? error
          : new LinkFailure('unavailable', status.UNAVAILABLE, 'The service has a problem.', {
              'x-retry-after-ms': '2000',
            }),
      );
    });
  };

  /** Called about every second: sends away who has not said hello in time. */
  sweep(): void {
    const now = this.#monotonicMs();
    for (const visitor of this.#visitors) {
      if (visitor.cutOffAtMs === undefined ? visitor.call.destroyed : visitor.cutOffAtMs <= now) {
        this.#visitors.delete(visitor);
        cutOff(visitor.call);
      } else if (visitor.cutOffAtMs === undefined && visitor.deadlineMs <= now) {
        this.#refuse(
          visitor,
          new LinkFailure('hello_missing', status.DEADLINE_EXCEEDED, 'No hello came in time.'),
        );
      }
    }
  }

  /** Sends away everybody who is not in yet. */
  drain(): void {
    for (const visitor of this.#visitors) this.#refuse(visitor, draining());
  }

  /** Streams without a session whose token was accepted: their keys are checked like those of sessions. */
  judged(): KeyHolder[] {
    return [...this.#visitors].flatMap(({ holder, cutOffAtMs }) =>
      holder && cutOffAtMs === undefined ? [holder] : [],
    );
  }

  #holder(visitor: Visitor, { deviceId, keyId }: TokenClaims): KeyHolder {
    // With its session, which is checked itself, it is no visitor any more.
    const isVisitor = () => this.#visitors.has(visitor) && visitor.cutOffAtMs === undefined;
    return {
      deviceId,
      keyId,
      get ended() {
        return !isVisitor();
      },
      keyRemoved: () => {
        if (!isVisitor()) return;
        this.#deps.logger.info(
          { deviceId, keyId },
          'a stream ends before its session began, because its key was removed',
        );
        this.#refuse(visitor, keyNotAccepted(this.#deps.clock, deviceId));
      },
    };
  }

  async #receive(visitor: Visitor): Promise<void> {
    const { call } = visitor;
    const { hub } = this.#deps;
    if (hub.draining) throw draining();
    if (hub.size >= this.#deps.maxSessions) {
      throw new LinkFailure('full', status.UNAVAILABLE, 'This instance is full.', {
        'x-retry-after-ms': '5000',
      });
    }
    const claims = await this.#deps.authenticate(call.metadata);
    const { deviceId } = claims;
    if (visitor.cutOffAtMs !== undefined || call.cancelled) return;
    visitor.holder = this.#holder(visitor, claims);
    const judgedAtMs = this.#monotonicMs();
    const hello = await this.#awaitHello(visitor, deviceId);
    // A visitor that was sent away meanwhile is not registered, whatever it still says.
    if (!hello || visitor.cutOffAtMs !== undefined || call.cancelled) return;
    if (this.#monotonicMs() - judgedAtMs > lateHelloMs) {
      await this.#deps.authenticate(call.metadata);
      if (visitor.cutOffAtMs !== undefined || call.cancelled) return;
    }
    const leave = this.#enter(deviceId);
    try {
      await this.#admit(visitor, claims, hello, leave);
    } catch (error) {
      this.#doubtfulUntilMs.set(deviceId, this.#monotonicMs() + doubtfulMs);
      throw error;
    } finally {
      leave();
    }
  }

  /** Registers the session and begins it; `entered` is called when the hub knows it. */
  async #admit(visitor: Visitor, claims: TokenClaims, hello: Hello, entered: () => void): Promise<void> {
    const { call } = visitor;
    const { deviceId } = claims;
    const { hub } = this.#deps;
    const registration = await this.#deps.directory.register(deviceId);
    const session = new Session(call, claims, registration.epoch, this.#deps.session);
    this.#visitors.delete(visitor);
    const peer = call.getPeer();
    this.#deps.connections.busy(peer);
    const streamOver = () => {
      this.#deps.connections.idle(peer);
      hub.gone(session);
    };
    // If the stream ended while the session was registered, the event has passed: the hub must not wait for it.
    if (call.cancelled) streamOver();
    else call.once('cancelled', streamOver);
    call.once('end', () => {
      // The headset has closed its half: the session is over.
      session.end();
      call.end();
    });
    call.on('data', (message: Incoming) => this.#message(session, call, message));
    // It may have gone, or the instance begun to drain, while it was registered.
    if (call.cancelled || call.destroyed || visitor.cutOffAtMs !== undefined || hub.draining) {
      session.end();
      if (hub.draining) await hub.releaseEnded();
      throw draining();
    }
    const added = hub.add(session);
    entered();
    if (!added) return;
    const { earlierInstanceId } = registration;
    const sharedIdentity = earlierInstanceId !== undefined && this.#deps.displacements.add(deviceId);
    const begun = this.#begin(session, hello, registration, sharedIdentity);
    if (earlierInstanceId && earlierInstanceId !== this.#deps.instanceId) {
      await this.#closeEarlier(earlierInstanceId, session);
    }
    await begun;
  }

  /** Counts a registration of the device until the returned function is called. */
  #enter(deviceId: string): () => void {
    this.#entering.set(deviceId, (this.#entering.get(deviceId) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (this.#entering.get(deviceId) ?? 0) - 1;
      if (left > 0) this.#entering.set(deviceId, left);
      else this.#entering.delete(deviceId);
    };
  }

  /**
   * Gives back what failed registrations may have left: the store may name this instance as the holder of a
   * session that never was, because only the answer was lost. Called with each lease.
   */
  async giveBackDoubtful(): Promise<void> {
    const { directory, hub, instanceId } = this.#deps;
    if (this.#doubtfulUntilMs.size === 0) return;
    const lookedAtMs = this.#monotonicMs();
    const holders = await directory.holders([...this.#doubtfulUntilMs.keys()]);
    const ghosts = [...holders].filter(
      ([deviceId, holder]) =>
        holder.instanceId === instanceId &&
        !this.#entering.has(deviceId) &&
        !hub.knows(deviceId, holder.epoch),
    );
    await directory.release(
      ghosts.map(([deviceId, { epoch }]) => ({ deviceId, epoch, ackedReportId: 0, unresponsive: false })),
    );
    for (const [deviceId, untilMs] of this.#doubtfulUntilMs) {
      if (untilMs < lookedAtMs && !this.#entering.has(deviceId)) this.#doubtfulUntilMs.delete(deviceId);
    }
  }

  #monotonicMs(): number {
    return monotonicMs(this.#deps.clock);
  }

  /** Reads the activation only now that the session is registered: what changes later is sent to it (rule A7). */
  async #begin(
    session: Session,
    hello: Hello,
    registration: Registration,
    sharedIdentity: boolean,
  ): Promise<void> {
    const activation = await this.#deps.session.currentActivation(session.deviceId);
    if (!session.ended) session.begin(hello, registration, activation, sharedIdentity);
  }

  /** Sends away who has waited longest without a hello, at the limit. False: everybody waits for this instance. */
  #makeRoom(): boolean {
    const { hub, maxSessions, maxWaiting } = this.#deps;
    if (hub.size + this.#visitors.size < maxSessions + maxWaiting) return true;
    for (const visitor of this.#visitors) {
      if (visitor.awaits === undefined || visitor.cutOffAtMs !== undefined) continue;
      this.#sendAway(visitor);
      return true;
    }
    return false;
  }

  /** Refuses it, and does not wait for it to go. */
  #sendAway(visitor: Visitor): void {
    this.#refuse(visitor, crowded());
    this.#visitors.delete(visitor);
    this.#deps.time.setTimeout(() => cutOff(visitor.call), limits.closeGraceMs).unref();
  }

  /** One headset says hello on one stream: a newer one takes the place of the one before. */
  async #awaitHello(visitor: Visitor, deviceId: string): Promise<Hello | undefined> {
    const earlier = this.#awaited.get(deviceId);
    if (earlier && earlier.cutOffAtMs === undefined) this.#sendAway(earlier);
    visitor.awaits = deviceId;
    this.#awaited.set(deviceId, visitor);
    try {
      return await this.#hello(visitor);
    } finally {
      delete visitor.awaits;
      if (this.#awaited.get(deviceId) === visitor) this.#awaited.delete(deviceId);
    }
  }

  /** The first message; undefined when the stream ends before it comes. */
  #hello({ call }: Visitor): Promise<Hello | undefined> {
    return new Promise((resolve, reject) => {
      const over = () => resolve(undefined);
      call.once('cancelled', over);
      call.once('end', over);
      call.once('data', (message: Incoming) => {
        call.pause();
        call.removeListener('end', over);
        call.removeListener('cancelled', over);
        const problem = firstProblem(message);
        this.#deps.session.metrics.received(problem ? 'invalid' : 'hello');
        if (problem) reject(problem);
        else resolve((message as ConnectRequest).body.value as Hello);
      });
    });
  }

  #message(session: Session, call: LinkCall, message: Incoming): void {
    const problem = session.receive(message);
    if (!problem) return;
    this.#deps.session.metrics.received('invalid');
    this.#deps.logger.warn({ deviceId: session.deviceId, reason: problem }, 'a headset broke the protocol');
    session.end();
    call.emit('error', outOfForm(problem));
  }

  #refuse(visitor: Visitor, failure: LinkFailure): void {
    if (visitor.cutOffAtMs !== undefined) return;
    visitor.cutOffAtMs = this.#monotonicMs() + limits.closeGraceMs;
    if (visitor.call.destroyed) return;
    this.#tellRefusal(visitor, failure);
    visitor.call.emit('error', failure);
    // Whatever the peer still sends is thrown away, so that the stream can end.
    visitor.call.resume();
  }

  #tellRefusal({ call, holder }: Visitor, { refusal, claimedDeviceId, details }: LinkFailure): void {
    const peer = call.getPeer();
    this.#deps.refused(refusal, {
      address: this.#deps.connections.addressOf(peer) ?? peer,
      deviceId: holder?.deviceId ?? claimedDeviceId,
      details,
    });
  }

  /** Tries until the other instance has heard of it, is dead, or this session is over as well. */
  async #closeEarlier(instanceId: string, session: Session): Promise<void> {
    const { directory, closeElsewhere, logger } = this.#deps;
    await retryWhile(
      () => !session.ended,
      async () => {
        const address = await directory.addressOf(instanceId);
        if (address) await closeElsewhere(address, session.deviceId, session.epoch);
      },
      (error, attempt) => {
        if (attempt % 10 === 1) {
          logger.warn({ deviceId: session.deviceId, err: error }, 'an older session could not be closed');
        }
      },
    );
  }
}

function firstProblem(message: Incoming): LinkFailure | undefined {
  if (message instanceof UnreadableMessage) return outOfForm(message.reason);
  const { body } = message as ConnectRequest;
  if (body.case !== 'hello') {
    return outOfForm('the first message must be hello');
  }
  const problem = checkHello(body.value);
  if (!problem) return undefined;
  return problem.kind === 'wrong-version'
    ? new LinkFailure('protocol', status.FAILED_PRECONDITION, problem.reason)
    : outOfForm(problem.reason);
}

/** A defect of the client, which is there again in its next session: it need not come at once. */
function outOfForm(problem: string): LinkFailure {
  return new LinkFailure('protocol', status.INVALID_ARGUMENT, problem, { 'x-retry-after-ms': '5000' });
}

function crowded(): LinkFailure {
  return new LinkFailure('crowded', status.UNAVAILABLE, 'Too many streams wait for a session.', {
    'x-retry-after-ms': '5000',
  });
}

function draining(): LinkFailure {
  return new LinkFailure('draining', status.UNAVAILABLE, 'The server drains; connect again.', {
    'x-retry-after-ms': '0',
  });
}
