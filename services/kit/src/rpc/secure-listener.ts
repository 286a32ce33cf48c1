import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { ListenAddress } from '../config.ts';
import type { Logger } from '../logger.ts';
import type { CertificateFiles, TlsMaterial } from '../tls/certificate-files.ts';
import type { RpcSecurity, SecurityObserver } from './security.ts';

/** TLS by which only the server shows who it is: for peers that prove themselves inside, as headsets do. */
export interface ServerTls {
  readonly mode: 'server';
  readonly files: CertificateFiles;
  readonly observe: Pick<SecurityObserver, 'handshakeFailed'>;
}

/** A peer that does not begin, or does not end its handshake, is disconnected; milliseconds. */
const handshakeMs = 10_000;
/** First byte of a TLS record that begins a handshake. */
const handshakeRecord = 0x16;

/**
 * A port with TLS in front of a gRPC server: mutual TLS, in `permissive` mode also for peers without it, or the
 * server's alone. grpc-js could end TLS by itself, but it tells nobody of failed handshakes, has no port for
 * both, and reads no renewed certificate.
 */
export class SecureListener {
  readonly #tls: TlsServer;
  readonly #port: NetServer;
  readonly #security: RpcSecurity | ServerTls;
  /** The connections that the gRPC server has. */
  readonly #open = new Set<Socket>();
  #noneIsOpen: (() => void) | undefined;

  constructor(server: Server, security: RpcSecurity | ServerTls, logger: Logger) {
    this.#security = security;
    const { files, observe } = security;
    const mutual = security.mode !== 'server';
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
    const asked = { requestCert: mutual, rejectUnauthorized: mutual };
    const contextOf = ({ cert, key, ca }: TlsMaterial) => ({
      ...{ cert, key, minVersion: 'TLSv1.2' as const },
      ...(mutual && { ca }),
    });
    this.#tls = createTlsServer(
      { ...contextOf(files.current()), ...asked, ALPNProtocols: ['h2'], handshakeTimeout: handshakeMs },
      (socket) => {
        // A peer that breaks off after the handshake; HTTP/2 handles it from then on.
        socket.on('error', () => {});
        handOver(socket);
      },
    );
    this.#tls.on('tlsClientError', (error, socket) => {
      observe.handshakeFailed();
      const why = { peer: socket.remoteAddress, reason: error.message };
      if (mutual) logger.warn(why, 'a connection of another service failed in its TLS handshake');
      // Whoever scans a public port could fill the log.
      else logger.debug(why, 'a connection failed in its TLS handshake');
    });
    files.onChange((material) => this.#tls.setSecureContext(contextOf(material)));
    this.#port =
      security.mode !== 'permissive'
        ? this.#tls
        : createServer({ noDelay: true }, (socket) => {
            this.#sniff(socket, () => {
              security.observe.plaintextAccepted();
              logger.debug({ peer: socket.remoteAddress }, 'a service connects without TLS');
              handOver(socket);
            });
          });
  }

  /** Reads the first byte, puts it back, and hands the connection to TLS or to plaintext. */
  #sniff(socket: Socket, plaintext: () => void): void {
    const tooLong = setTimeout(() => socket.destroy(), handshakeMs).unref();
    const gone = () => clearTimeout(tooLong);
    socket.on('error', () => {});
    socket.once('close', gone);
    socket.once('readable', () => {
      const first: Buffer | null = socket.read();
      if (first === null) return;
      gone();
      socket.unshift(first);
      if (first[0] === handshakeRecord) this.#tls.emit('connection', socket);
      else plaintext();
    });
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
   * that turned away), though calls on them may go on.
   */
  close(): Promise<void> {
    this.#port.close();
    this.#security.files.close();
    return new Promise((resolve) => {
      this.#noneIsOpen = resolve;
      if (this.#open.size === 0) resolve();
    });
  }
}
