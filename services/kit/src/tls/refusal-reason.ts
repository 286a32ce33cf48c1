import type { TLSSocket } from 'node:tls';

/** Why a TLS handshake failed: words for an operator, and the code of OpenSSL or Node. */
export interface HandshakeFailure {
  readonly reason: string;
  readonly code: string;
}

const expired = 'the certificate of the peer has expired';
const otherAuthority = 'the certificate of the peer is of another authority';
const refusedOwn = "the peer does not accept this process's certificate";
const noTls = 'the peer speaks no TLS';

/** By OpenSSL's and Node's codes; any other stands for itself. */
const reasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: 'the certificate of the peer is not valid yet',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: otherAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: otherAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: otherAuthority,
  CERT_SIGNATURE_FAILURE: otherAuthority,
  INVALID_PURPOSE: 'the certificate of the peer is not for this use',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the peer is not for this name',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'the peer showed no certificate',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': refusedOwn,
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE': refusedOwn,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED': refusedOwn,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN': refusedOwn,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: refusedOwn,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: refusedOwn,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_HTTP_REQUEST: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the peer speaks an old version of TLS',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'the handshake did not end in time',
  ECONNRESET: "the peer ended the connection: it may not accept this process's certificate",
};

/** What an error of a handshake means; `code` is one of a closed set, so it may name a kind of log lines. */
export function failureOf(error: unknown): HandshakeFailure {
  const { code = 'unknown' } = (error ?? {}) as { code?: string };
  return { reason: reasons[code] ?? code, code };
}

const brokenOff = ['unknown', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'ERR_STREAM_DESTROYED'];

/** True when the connection ended without a word: its peer may just be stopping. */
export function isBrokenOff({ code }: HandshakeFailure): boolean {
  return brokenOff.includes(code);
}

/**
 * Why a peer whose handshake has ended is not accepted; undefined: it has shown a certificate that this process's
 * authorities signed and that is valid now. Node's own judgement (`rejectUnauthorized`) demands `authorized` alone; a
 * resumed session would have that without a certificate. Never throws, whatever the certificate is.
 */
export function notAccepted(socket: TLSSocket): HandshakeFailure | undefined {
  try {
    if (socket.isSessionReused()) return { reason: 'the peer resumed a session', code: 'SESSION_REUSED' };
    if (socket.getPeerX509Certificate() === undefined) {
      return failureOf({ code: 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE' });
    }
    if (socket.authorized === true) return undefined;
    // Node gives the code itself on this side, an error on the other.
    const error: unknown = socket.authorizationError;
    return failureOf(typeof error === 'string' ? { code: error } : error);
  } catch {
    return { reason: 'the certificate of the peer cannot be read', code: 'unreadable' };
  }
}

/** Whose certificate the peer has shown, and its end, for a log line; empty: none that can be read. */
export function shownBy(socket: TLSSocket): { readonly certificate?: string; readonly validTo?: string } {
  try {
    const shown = socket.getPeerX509Certificate();
    if (!shown) return {};
    return { certificate: shown.subjectAltName ?? shown.subject, validTo: shown.validTo };
  } catch {
    return {};
  }
}
