import { constants } from 'node:crypto';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { systemTime, type Time } from '../clock.ts';
import type { ListenAddress } from '../config.ts';
import { createGatheredLog } from '../gathered-log.ts';
import type { Connections } from '../listeners/connections.ts';
import { takeProxyHeader } from '../listeners/proxy-header.ts';
import type { Logger } from '../logger.ts';
import type { CertificateFiles, TlsMaterial } from '../tls/certificate-files.ts';
import { failureOf, type HandshakeFailure, notAccepted, shownBy } from '../tls/refusal-reason.ts';
import type { RpcSecurity, SecurityObserver } from './security.ts';

/** A public listener (rule C21): its connections have limits. */
export interface PublicListener {
  readonly connections: Connections;
  /** Proxies in front of it begin each connection with a PROXY header, which names the client. */
  readonly proxyHeader?: boolean;
}

/** Without TLS: a proxy ends it, or nobody but this machine gets here. */
export interface Plaintext extends PublicListener {
  readonly mode: 'plaintext';
}

/** TLS by which only the server shows who it is: for peers that prove themselves inside, as headsets do. */
export interface ServerTls extends PublicListener {
  readonly mode: 'server';
  readonly files: CertificateFiles;
  readonly observe: Pick<SecurityObserver, 'handshakeFailed'>;
}

export interface HandshakeLimits {
  /** A peer that does not begin, or does not end its handshake, is disconnected; milliseconds. */
  readonly withinMs: number;
  /** Connections between services that have not ended their handshake; one more replaces the oldest. */
  readonly most: number;
  /** At most one log line about handshakes that fail for one reason in this time; milliseconds. */
  readonly logEveryMs: number;
}

/**
 * `most`: each such connection takes about 80 KiB (measured with 15 KB of a handshake), so all take about 40 MiB;
 * processes that connect at the same moment are fewer.
 */
const handshakeLimits: HandshakeLimits = { withinMs: 10_000, most: 500, logEveryMs: 10_000 };
/** First byte of a TLS record that begins a handshake. */
const handshakeRecord = 0x16;

/**
 * A port in front of a gRPC server: mutual TLS, in `permissive` mode also for peers without it, the server's TLS
 * alone, or none, with limits for a public listener. grpc-js could listen by itself, but it tells nobody of failed
 * handshakes, has no port for both, reads no renewed certificate, and takes every connection.
 */
export class SecureListener {
  readonly #port: NetServer;
  readonly #security: RpcSecurity | ServerTls | Plaintext;
  readonly #limits: HandshakeLimits;
  /** The connections that the gRPC server has. */
  readonly #time: Time;
  readonly #open = new Set<Socket>();
  #noneIsOpen: (() => void) | undefined;

  constructor(
    server: Server,
    security: RpcSecurity | ServerTls | Plaintext,
    logger: Logger,
    limits: Partial<HandshakeLimits> = {},
    time: Time = systemTime,
  ) {
    this.#security = security;
    this.#limits = { ...handshakeLimits, ...limits };
    this.#time = time;
    const inside = server.createConnectionInjector(ServerCredentials.createInsecure());
    const handOver = (socket: Socket) => {
      // Its handshake ended after `close`: nobody would tell it to end.
      if (this.#noneIsOpen) return socket.destroy();
      this.#open.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        if (this.#open.size === 0) this.#noneIsOpen?.();
      });
      inside.injectConnection(socket);
    };
    const port =
      security.mode === 'plaintext'
        ? createServer({ noDelay: true }, (socket) => {
            // HTTP/2 handles it from here on.
            if (!socket.destroyed) handOver(socket);
          })
        : this.#secured(security, handOver, logger);
    if ('connections' in security && security.proxyHeader) {
      this.#port = behindProxies(port, security.connections, this.#limits.withinMs, logger, time);
      return;
    }
    this.#port = port;
    if ('connections' in security) {
      const { connections } = security;
      // Before the listeners above, which then find a socket that is destroyed.
      port.prependListener('connection', (socket: Socket) => connections.admit(socket));
    }
  }

  /** A server that hands over connections after their handshake. */
  #secured(security: RpcSecurity | ServerTls, handOver: (socket: Socket) => void, logger: Logger): NetServer {
    const { files, observe } = security;
    const { withinMs, most } = this.#limits;
    const mutual = security.mode !== 'server';
    // A public listener has a limit for all its connections.
    const handshakes = mutual ? new Handshakes(most) : undefined;
    // With `rejectUnauthorized` Node would end the connection before anybody knows why, and whose it was: peers are
    // judged below.
    const asked = { requestCert: mutual, rejectUnauthorized: false };
    const contextOf = ({ cert, key, ca }: TlsMaterial) => ({
      ...{ cert, key, minVersion: 'TLSv1.2' as const },
      // A resumed session is not judged by the peer's certificate, nor by its authority: it would be accepted after
      // both have ended. Without tickets sessions need a store, which Node has only by its event resumeSession.
      // A renegotiation (TLS 1.2) could change the certificate after it was judged.
      ...(mutual && {
        ca,
        secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
      }),
    });
    const tell = this.#failures(mutual, logger);
    const fail = (failure: HandshakeFailure, socket: TLSSocket) => {
      observe.handshakeFailed();
      tell(failure, socket);
      socket.destroy();
    };
    const tls: TlsServer = createTlsServer(
      { ...contextOf(files.current()), ...asked, ALPNProtocols: ['h2'], handshakeTimeout: withinMs },
      (socket) => {
        // A peer that breaks off after the handshake; HTTP/2 handles it from then on.
        socket.on('error', () => {});
        handshakes?.ended(socket);
        const failure = mutual ? notAccepted(socket) : undefined;
        if (failure) return fail(failure, socket);
        if (mutual) readOnce(socket);
        handOver(socket);
      },
    );
    // Node only tells of a handshake that takes too long, and leaves the connection open.
    tls.on('tlsClientError', (error, socket) => fail(failureOf(error), socket));
    files.onChange((material) => tls.setSecureContext(contextOf(material)));
    if (security.mode !== 'permissive') {
      tls.prependListener('connection', (socket: Socket) => handshakes?.began(socket));
      return tls;
    }
    return createServer({ noDelay: true }, (socket) => {
      handshakes?.began(socket);
      sniff(
        socket,
        tls,
        withinMs,
        () => {
          handshakes?.ended(socket);
          security.observe.plaintextAccepted();
          logger.debug({ peer: socket.remoteAddress }, 'a service connects without TLS');
          handOver(socket);
        },
        this.#time,
      );
    });
  }

  /** Logs failed handshakes by their reason, but not each: whoever reaches the port could fill the log. */
  #failures(mutual: boolean, logger: Logger): (failure: HandshakeFailure, socket: TLSSocket) => void {
    const tell = createGatheredLog(
      (fields) => {
        if (mutual) logger.warn(fields, 'a connection of another service failed in its TLS handshake');
        else logger.debug(fields, 'a connection failed in its TLS handshake');
      },
      { everyMs: this.#limits.logEveryMs },
      this.#time,
    );
    return (failure, socket) => tell({ ...failure }, { peer: addressOf(socket), ...shownBy(socket) });
  }

  /** Listens; resolves with the port. */
  listen(address: ListenAddress): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#port.once('error', reject);
      this.#port.listen(address.port, address.host, () => {
        this.#port.off('error', reject);
        this.#port.on('error', () => {});
        resolve((this.#port.address() as { port: number }).port);
      });
    });
  }

  /**
   * Takes no more connections; the open ones are the gRPC server's. Resolves when it has closed all: its own
   * shutdown does not wait for those that it was given and has told to end before (their age, or a caller
   * that turned away), though calls on them may continue.
   */
  close(): Promise<void> {
    this.#port.close();
    if (this.#security.mode !== 'plaintext') this.#security.files.close();
    return new Promise((resolve) => {
      this.#noneIsOpen = resolve;
      if (this.#open.size === 0) resolve();
    });
  }
}

/** Connections that have not ended their handshake. At the limit the oldest gives way. */
class Handshakes {
  readonly #most: number;
  /** By peer, because TLS has a socket of its own; the oldest first. */
  readonly #underWay = new Map<string, Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  began(socket: Socket): void {
    for (const [peer, oldest] of this.#underWay) {
      if (this.#underWay.size < this.#most) break;
      this.#underWay.delete(peer);
      oldest.destroy();
    }
    const peer = peerOf(socket);
    this.#underWay.set(peer, socket);
    socket.once('close', () => {
      if (this.#underWay.get(peer) === socket) this.#underWay.delete(peer);
    });
  }

  ended(socket: Socket): void {
    this.#underWay.delete(peerOf(socket));
  }
}

/**
 * grpc-js reads and parses the peer's certificate for each call, which was 7 % of the processor time of devices. It stays
 * the same: there is no renegotiation.
 */
function readOnce(socket: TLSSocket): void {
  const certificate = socket.getPeerCertificate();
  socket.getPeerCertificate = (() => certificate) as TLSSocket['getPeerCertificate'];
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`;

/** A connection that its peer has ended knows its address no more, but the socket below, which Node keeps there, does. */
function addressOf(socket: TLSSocket): string | undefined {
  return socket.remoteAddress ?? (socket as { readonly _parent?: Socket })._parent?.remoteAddress;
}

/**
 * A port that takes the PROXY header off the connections of trusted proxies, and hands all on to `port`. From anybody
 * else such a header is no TLS and no HTTP/2, so nobody can name an address that is not theirs.
 */
function behindProxies(
  port: NetServer,
  connections: Connections,
  withinMs: number,
  logger: Logger,
  time: Time,
): NetServer {
  return createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    if (!connections.admit(socket)) return;
    if (!connections.isProxy(socket)) {
      port.emit('connection', socket);
      return;
    }
    takeProxyHeader(socket, withinMs, time).then(
      ({ address }) => {
        if (address === undefined || connections.cameFrom(socket, address)) port.emit('connection', socket);
      },
      (error: Error) => {
        logger.debug({ peer: socket.remoteAddress, reason: error.message }, 'a proxy sent no PROXY header');
        socket.destroy();
      },
    );
  });
}

/** Reads the first byte, puts it back, and hands the connection to TLS or to plaintext. */
function sniff(socket: Socket, tls: TlsServer, withinMs: number, plaintext: () => void, time: Time): void {
  const tooLong = time.setTimeout(() => socket.destroy(), withinMs);
  tooLong.unref();
  const gone = () => time.clearTimer(tooLong);
  socket.on('error', () => {});
  socket.once('close', gone);
  socket.once('readable', () => {
    const first: Buffer | null = socket.read();
    if (first === null) return;
    gone();
    socket.unshift(first);
    if (first[0] === handshakeRecord) tls.emit('connection', socket);
    else plaintext();
  });
}
