import { connect as connectTcp, type Socket } from 'node:net';
import { checkServerIdentity, connect, createSecureContext, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials, type experimental } from '@grpc/grpc-js';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { TlsMaterial } from '@headset-cloud/runtime/tls/certificate-files.ts';
import { failureOf, isBrokenOff } from '@headset-cloud/runtime/tls/refusal-reason.ts';
import { identityOf, type Peer } from './identity.ts';
import type { RpcSecurity } from './security.ts';

type SecureConnector = experimental.SecureConnector;

/** In `permissive` mode: time after a failed TLS handshake in which a peer is called without TLS; milliseconds. */
const plaintextForMs = 60_000;

/**
 * Credentials of a channel to a service: this process's certificate. The peer's certificate must contain the name of
 * the service; its address is not checked. Each new connection uses the newest certificates. In `permissive` mode, a
 * peer that does not support TLS is called without TLS.
 */
export class MutualTlsCredentials extends ChannelCredentials {
  readonly #security: RpcSecurity;
  readonly #expected: string;
  readonly #time: Time;
  #context: { readonly of: TlsMaterial; readonly secure: SecureContext } | undefined;
  /** Addresses of peers without TLS, each with its expiry by the monotonic clock. */
  readonly #plaintext = new Map<string, number>();

  constructor(security: RpcSecurity, expects: Peer, time: Time = systemTime) {
    super();
    this.#security = security;
    this.#time = time;
    this.#expected = identityOf(expects, security.domain);
  }

  /** Returns the TLS context of the newest certificates. */
  #secureContext(): SecureContext {
    const material = this.#security.files.current();
    if (this.#context?.of !== material) {
      this.#context = { of: material, secure: createSecureContext(material) };
    }
    return this.#context.secure;
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    _target: unknown,
    _options: unknown,
    credentials?: CallCredentials,
  ): SecureConnector {
    return {
      connect: (socket) => this.#connect(socket),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => credentials ?? CallCredentials.createEmpty(),
      destroy: () => {},
    };
  }

  async #connect(socket: Socket): Promise<{ socket: Socket; secure: boolean }> {
    const { remoteAddress: host = '', remotePort: port = 0 } = socket;
    const address = `${host}:${port}`;
    if ((this.#plaintext.get(address) ?? 0) > this.#time.monotonicNow()) return { socket, secure: false };
    this.#plaintext.delete(address);
    try {
      return { socket: await this.#handshake(socket), secure: true };
    } catch (error) {
      if (this.#security.mode !== 'permissive' || !supportsNoTls(error)) {
        const failure = failureOf(error);
        if (!isBrokenOff(failure)) {
          this.#security.observe.clientHandshakeFailed(this.#expected, address, failure);
        }
        throw error;
      }
      this.#plaintext.set(address, this.#time.monotonicNow() + plaintextForMs);
      return { socket: await dial(host, port), secure: false };
    }
  }

  #handshake(socket: Socket): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const secured = connect({
        socket,
        secureContext: this.#secureContext(),
        servername: this.#expected,
        checkServerIdentity: (_host, certificate) => checkServerIdentity(this.#expected, certificate),
        ALPNProtocols: ['h2'],
        minVersion: 'TLSv1.2',
      });
      secured.once('secureConnect', () => resolve(secured));
      secured.on('error', reject);
      secured.once('close', () => reject(new Error('the connection was closed in the TLS handshake')));
    });
  }
}

function dial(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host, port, noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** True for the errors that Node reports if a peer answers a TLS handshake with HTTP/2 frames. */
function supportsNoTls(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG';
}
