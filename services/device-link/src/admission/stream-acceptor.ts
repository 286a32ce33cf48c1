import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Peers } from '../calls/peers.ts';
import { retryWhile } from '../calls/retry.ts';
import type { TokenClaims } from '../domain/token.ts';
import type { Registration, SessionDirectory } from '../ports.ts';
import type { SessionHub } from '../presence/hub.ts';
import { Session, type SessionDeps } from '../session/session.ts';
import type { Incoming, LinkCall } from '../transport/wire.ts';
import type { Authenticator } from './authenticate.ts';
import type { Displacements } from './displacements.ts';
import { isOpen, type PendingStream, type PendingStreams } from './pending-streams.ts';
import { draining, full, protocolError, StreamRefused, streamUnavailable } from './refusals.ts';
import type { Registrations } from './registrations.ts';

export interface StreamAcceptorDeps {
  readonly authenticate: Authenticator;
  readonly directory: SessionDirectory;
  readonly hub: SessionHub;
  readonly pendingStreams: PendingStreams;
  readonly registrations: Registrations;
  readonly displacements: Pick<Displacements, 'add'>;
  readonly peers: Pick<Peers, 'at'>;
  readonly session: SessionDeps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxSessions: number;
  /** The connections of the headsets' port. */
  readonly connections: Pick<Connections, 'busy' | 'idle'>;
}

/** Time between the check of the token and the hello after which the token is checked again; milliseconds. */
const lateHelloMs = 2000;

/** Accepts streams: checks the token, waits for the hello, registers the session and begins it. */
export class StreamAcceptor {
  readonly #deps: StreamAcceptorDeps;

  constructor(deps: StreamAcceptorDeps) {
    this.#deps = deps;
  }

  /** The handler of HeadsetLinkService.Connect. */
  readonly connect = (call: LinkCall): void => {
    const { pendingStreams, logger } = this.#deps;
    const stream = pendingStreams.add(call);
    if (!stream) return;
    this.#accept(stream).catch((error) => {
      const isRefused = error instanceof StreamRefused;
      if (!isRefused) logger.error({ err: error }, 'the stream of a headset could not be accepted');
      pendingStreams.refuse(
        stream,
        isRefused ? error : streamUnavailable('unavailable', 'The service has a problem.', 2000),
      );
    });
  };

  async #accept(stream: PendingStream): Promise<void> {
    const { call } = stream;
    const { hub, maxSessions, authenticate, pendingStreams, registrations, clock } = this.#deps;
    if (hub.draining) throw draining();
    if (hub.size >= maxSessions) throw full();
    const claims = await authenticate(call.metadata);
    if (!isOpen(stream)) return;
    pendingStreams.authenticated(stream, claims);
    const checkedAtMs = monotonicMs(clock);
    const hello = await pendingStreams.hello(stream, claims.deviceId);
    if (!hello || !isOpen(stream)) return;
    if (monotonicMs(clock) - checkedAtMs > lateHelloMs) {
      await authenticate(call.metadata);
      if (!isOpen(stream)) return;
    }
    await registrations.run(claims.deviceId, (known) => this.#register(stream, claims, hello, known));
  }

  /** Registers the session and begins it; calls `known` when the hub knows the session. */
  async #register(
    stream: PendingStream,
    claims: TokenClaims,
    hello: Hello,
    known: () => void,
  ): Promise<void> {
    const { call } = stream;
    const { hub, directory, connections, displacements, maxSessions, pendingStreams } = this.#deps;
    const registration = await directory.register(claims.deviceId);
    const session = new Session(call, claims, registration.epoch, this.#deps.session);
    pendingStreams.remove(stream);
    const peer = call.getPeer();
    connections.busy(peer);
    const onStreamEnd = () => {
      connections.idle(peer);
      hub.streamEnded(session);
    };
    // If the stream ended during the registration, `cancelled` has already been emitted.
    if (call.cancelled) onStreamEnd();
    else call.once('cancelled', onStreamEnd);
    call.once('end', () => {
      // The headset has closed its half of the stream: the session ends.
      session.end();
      call.end();
    });
    call.on('data', (message: Incoming) => this.#receive(session, call, message));
    // Other sessions may have been added since the stream arrived.
    const isFull = hub.size >= maxSessions;
    if (!isOpen(stream) || call.destroyed || hub.draining || isFull) {
      session.end();
      if (hub.draining || isFull) await hub.releaseEnded();
      throw isFull && !hub.draining ? full() : draining();
    }
    const added = hub.add(session);
    known();
    if (!added) return;
    const { earlierInstanceId } = registration;
    const sharedIdentity = earlierInstanceId !== undefined && displacements.add(claims.deviceId);
    const isElsewhere = earlierInstanceId && earlierInstanceId !== directory.instanceId;
    await Promise.all([
      this.#begin(session, hello, registration, sharedIdentity),
      isElsewhere && this.#closeEarlier(earlierInstanceId, session),
    ]);
  }

  /**
   * Reads the activation and begins the session. The activation is read after the registration, so that every later
   * change of the activation is sent to this session (rule A7).
   */
  async #begin(
    session: Session,
    hello: Hello,
    registration: Registration,
    sharedIdentity: boolean,
  ): Promise<void> {
    const activation = await this.#deps.session.currentActivation(session.deviceId);
    if (!session.ended) session.begin(hello, registration, activation, sharedIdentity);
  }

  #receive(session: Session, call: LinkCall, message: Incoming): void {
    const problem = session.receive(message);
    if (!problem) return;
    this.#deps.session.metrics.received('invalid');
    this.#deps.logger.warn({ deviceId: session.deviceId, reason: problem }, 'a headset broke the protocol');
    session.end();
    call.emit('error', protocolError(problem));
  }

  /**
   * Closes the device's earlier session at another instance. Retries until the call succeeds or the new session ends.
   */
  async #closeEarlier(instanceId: string, session: Session): Promise<void> {
    const { directory, peers } = this.#deps;
    const { deviceId, epoch } = session;
    await retryWhile(
      session.isAlive,
      async () => {
        const address = await directory.addressOf(instanceId);
        if (address) await peers.at(address).closeSession({ deviceId, belowEpoch: BigInt(epoch) });
      },
      (error, attempt) => {
        if (attempt % 10 === 1) {
          this.#deps.logger.warn({ deviceId, err: error }, 'an older session could not be closed');
        }
      },
    );
  }
}
