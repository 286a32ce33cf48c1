import { constants } from 'node:crypto';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { ListenAddress } from '@headset-cloud/runtime/config.ts';
import { createGatheredLog } from '@headset-cloud/runtime/gathered-log.ts';
import type { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import { takeProxyHeader } from '@headset-cloud/runtime/listeners/proxy-header.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { CertificateFiles, TlsMaterial } from '@headset-cloud/runtime/tls/certificate-files.ts';
import {
  failureOf,
  type HandshakeFailure,
  notAccepted,
  shownBy,
} from '@headset-cloud/runtime/tls/refusal-reason.ts';
import type { RpcSecurity, SecurityObserver } from './security.ts';

/** A public listener (rule C21): its connections have limits. */
export interface PublicListener {
  readonly connections: Connections;
  /** True if trusted proxies begin each connection with a PROXY header, which contains the client's address. */
  readonly proxyHeader?: boolean;
}

/** A listener without TLS: a proxy terminates TLS, or the port is reachable only from this machine. */
export interface Plaintext extends PublicListener {
  readonly mode: 'plaintext';
}

/** TLS with a server certificate only: for peers that authenticate in their first message, as headsets do. */
export interface ServerTls extends PublicListener {
  readonly mode: 'server';
  readonly files: CertificateFiles;
  readonly observe: Pick<SecurityObserver, 'handshakeFailed'>;
}

export interface HandshakeLimits {
  /** A peer that does not start or complete its handshake in this time is disconnected; milliseconds. */
  readonly withinMs: number;
  /** Maximum number of incomplete handshakes of mutual TLS; a new handshake replaces the oldest. */
  readonly most: number;
  /** Minimum time between two log lines about handshakes that fail for the same reason; milliseconds. */
  readonly logEveryMs: number;
}

/**
 * `most`: each incomplete handshake takes about 80 KiB (measured with 15 KB received), so all take about 40 MiB. Fewer
 * processes connect at the same time.
 */
const handshakeLimits: HandshakeLimits = { withinMs: 10_000, most: 500, logEveryMs: 10_000 };
/** First byte of a TLS handshake record. */
const handshakeRecord = 0x16;

/**
 * A port in front of a gRPC server: mutual TLS (in `permissive` mode also plaintext), TLS with a server certificate
 * only, or plaintext; a public listener has limits. grpc-js could listen itself, but it does not report failed
 * handshakes, cannot accept TLS and plaintext on one port, does not reload renewed certificates, and does not limit
 * connections.
 */
export class SecureListener {
  readonly #port: NetServer;
  readonly #security: RpcSecurity | ServerTls | Plaintext;
  readonly #limits: HandshakeLimits;
  readonly #time: Time;
  /** The open connections that were passed to the gRPC server. */
  readonly #open = new Set<Socket>();
  #onAllClosed: (() => void) | undefined;

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
      // The handshake ended after `close`, so nothing would close this connection later.
      if (this.#onAllClosed) return socket.destroy();
      this.#open.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        if (this.#open.size === 0) this.#onAllClosed?.();
      });
      inside.injectConnection(socket);
    };
    const port =
      security.mode === 'plaintext'
        ? createServer({ noDelay: true }, (socket) => {
            // HTTP/2 handles the socket from here on.
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
      // Runs before the listeners above, which then get a destroyed socket.
      port.prependListener('connection', (socket: Socket) => connections.admit(socket));
    }
  }

  /** Creates a server that passes on connections after their handshake. */
  #secured(security: RpcSecurity | ServerTls, handOver: (socket: Socket) => void, logger: Logger): NetServer {
    const { files, observe } = security;
    const { withinMs, most } = this.#limits;
    const mutual = security.mode !== 'server';
    // A public listener already limits its connections.
    const handshakes = mutual ? new Handshakes(most) : undefined;
    // With `rejectUnauthorized`, Node would close a rejected connection before its reason and address can be logged.
    // Therefore `notAccepted` checks peers after the handshake.
    const peerOptions = { requestCert: mutual, rejectUnauthorized: false };
    const contextOf = ({ cert, key, ca }: TlsMaterial) => ({
      ...{ cert, key, minVersion: 'TLSv1.2' as const },
      // Disables session resumption: a resumed session would be accepted after the peer's certificate or its authority
      // has expired. Sessions without tickets need a session store, which this server does not have. Disables
      // renegotiation (TLS 1.2), which could change the certificate after the check.
      ...(mutual && {
        ca,
        secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
      }),
    });
    const log = this.#failures(mutual, logger);
    const fail = (failure: HandshakeFailure, socket: TLSSocket) => {
      observe.handshakeFailed();
      log(failure, socket);
      socket.destroy();
    };
    const tls: TlsServer = createTlsServer(
      { ...contextOf(files.current()), ...peerOptions, ALPNProtocols: ['h2'], handshakeTimeout: withinMs },
      (socket) => {
        // The peer may end the connection right after the handshake. Later errors are handled by HTTP/2.
        socket.on('error', () => {});
        handshakes?.ended(socket);
        const failure = mutual ? notAccepted(socket) : undefined;
        if (failure) return fail(failure, socket);
        if (mutual) cacheCertificate(socket);
        handOver(socket);
      },
    );
    // Node reports a handshake that takes too long, but does not close its connection.
    tls.on('tlsClientError', (error, socket) => fail(failureOf(error), socket));
    files.onChange((material) => tls.setSecureContext(contextOf(material)));
    if (security.mode !== 'permissive') {
      tls.prependListener('connection', (socket: Socket) => handshakes?.began(socket));
      return tls;
    }
    return createServer({ noDelay: true }, (socket) => {
      handshakes?.began(socket);
      detectTls(
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

  /**
   * Logs failed handshakes by reason. The log is rate-limited, because everybody who reaches the port can cause them.
   */
  #failures(mutual: boolean, logger: Logger): (failure: HandshakeFailure, socket: TLSSocket) => void {
    const log = createGatheredLog(
      (fields) => {
        if (mutual) logger.warn(fields, 'a connection of another service failed in its TLS handshake');
        else logger.debug(fields, 'a connection failed in its TLS handshake');
      },
      { everyMs: this.#limits.logEveryMs },
      this.#time,
    );
    return (failure, socket) => log({ ...failure }, { peer: addressOf(socket), ...shownBy(socket) });
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
   * Stops accepting connections. The gRPC server closes the open ones. Resolves when all are closed. This wait is
   * needed, because the shutdown of the gRPC server does not wait for connections that have reached their maximum age
   * or got a GOAWAY, although calls on them may continue.
   */
  close(): Promise<void> {
    this.#port.close();
    if (this.#security.mode !== 'plaintext') this.#security.files.close();
    return new Promise((resolve) => {
      this.#onAllClosed = resolve;
      if (this.#open.size === 0) resolve();
    });
  }
}

/** Connections with an incomplete handshake. At the limit, a new connection replaces the oldest. */
class Handshakes {
  readonly #most: number;
  /**
   * By the peer's address and port, because the TLS socket is another object than the accepted socket; oldest first.
   */
  readonly #inProgress = new Map<string, Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  began(socket: Socket): void {
    for (const [peer, oldest] of this.#inProgress) {
      if (this.#inProgress.size < this.#most) break;
      this.#inProgress.delete(peer);
      oldest.destroy();
    }
    const peer = peerOf(socket);
    this.#inProgress.set(peer, socket);
    socket.once('close', () => {
      if (this.#inProgress.get(peer) === socket) this.#inProgress.delete(peer);
    });
  }

  ended(socket: Socket): void {
    this.#inProgress.delete(peerOf(socket));
  }
}

/**
 * Caches the peer's certificate on its socket. Without the cache, grpc-js parses the certificate for each call, which
 * took 7 % of the processor time of devices. The certificate cannot change, because renegotiation is disabled.
 */
function cacheCertificate(socket: TLSSocket): void {
  const certificate = socket.getPeerCertificate();
  socket.getPeerCertificate = (() => certificate) as TLSSocket['getPeerCertificate'];
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`;

/**
 * Address of the peer. After the peer has closed a TLS socket, only its parent socket (internal to Node) has the
 * address.
 */
function addressOf(socket: TLSSocket): string | undefined {
  return socket.remoteAddress ?? (socket as { readonly _parent?: Socket })._parent?.remoteAddress;
}

/**
 * A port that removes the PROXY header from the connections of trusted proxies, and passes all connections to `port`.
 * From other peers, the header fails as invalid TLS or HTTP/2. So only trusted proxies can set a client address.
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
        if (address === undefined || connections.countForClient(socket, address))
          port.emit('connection', socket);
      },
      (error: Error) => {
        logger.debug({ peer: socket.remoteAddress, reason: error.message }, 'a proxy sent no PROXY header');
        socket.destroy();
      },
    );
  });
}

/** Passes a connection to TLS or to `plaintext`, by its first byte, which stays readable. */
function detectTls(
  socket: Socket,
  tls: TlsServer,
  withinMs: number,
  plaintext: () => void,
  time: Time,
): void {
  const timer = time.setTimeout(() => socket.destroy(), withinMs);
  timer.unref();
  const clearTimer = () => time.clearTimer(timer);
  socket.on('error', () => {});
  socket.once('close', clearTimer);
  socket.once('readable', () => {
    const first: Buffer | null = socket.read();
    if (first === null) return;
    clearTimer();
    socket.unshift(first);
    if (first[0] === handshakeRecord) tls.emit('connection', socket);
    else plaintext();
  });
}
