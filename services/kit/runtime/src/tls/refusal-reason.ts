import type { TLSSocket } from 'node:tls';

/** Reason of a failed TLS handshake: a text for operators, and the code of OpenSSL or Node. */
export interface HandshakeFailure {
  readonly reason: string;
  readonly code: string;
}

const peerExpired = 'the certificate of the peer has expired';
const peerOtherAuthority = 'the certificate of the peer is of another authority';
const ownRejected = "the peer does not accept this process's certificate";
const noTls = 'the peer speaks no TLS';

/** Reasons by the codes of OpenSSL and Node. For any other code, the code itself is the reason. */
const reasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: peerExpired,
  CERT_NOT_YET_VALID: 'the certificate of the peer is not valid yet',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: peerOtherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: peerOtherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: peerOtherAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: peerOtherAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: peerOtherAuthority,
  CERT_SIGNATURE_FAILURE: peerOtherAuthority,
  INVALID_PURPOSE: 'the certificate of the peer is not for this use',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the peer is not for this name',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'the peer showed no certificate',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': ownRejected,
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE': ownRejected,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED': ownRejected,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN': ownRejected,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: ownRejected,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ownRejected,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_HTTP_REQUEST: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the peer speaks an old version of TLS',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'the handshake did not end in time',
  ECONNRESET: "the peer ended the connection: it may not accept this process's certificate",
};

/**
 * Returns the reason of a handshake error. The number of codes is limited, so `code` may identify a kind of log lines.
 */
export function failureOf(error: unknown): HandshakeFailure {
  const { code = 'unknown' } = (error ?? {}) as { code?: string };
  return { reason: reasons[code] ?? code, code };
}

const codesWithoutAlert = [
  'unknown',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'ERR_STREAM_DESTROYED',
];

/** True if the connection ended without a TLS alert: the peer may just be stopping. */
export function isBrokenOff({ code }: HandshakeFailure): boolean {
  return codesWithoutAlert.includes(code);
}

/**
 * Returns why a peer's certificate is rejected after its handshake; undefined: one of this process's authorities has
 * signed the certificate, and it is valid now. Node's own check (`rejectUnauthorized`) is not sufficient: it checks
 * only `authorized`, which is also true for a resumed session without a certificate. Never throws.
 */
export function notAccepted(socket: TLSSocket): HandshakeFailure | undefined {
  try {
    if (socket.isSessionReused()) return { reason: 'the peer resumed a session', code: 'SESSION_REUSED' };
    if (socket.getPeerX509Certificate() === undefined) {
      return failureOf({ code: 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE' });
    }
    if (socket.authorized === true) return undefined;
    // On a server's socket, `authorizationError` is the code itself; on a client's socket, it is an Error with the
    // code.
    const error: unknown = socket.authorizationError;
    return failureOf(typeof error === 'string' ? { code: error } : error);
  } catch {
    return { reason: 'the certificate of the peer cannot be read', code: 'unreadable' };
  }
}

/** Identity and expiry of the peer's certificate, for a log line; empty: no readable certificate. */
export function shownBy(socket: TLSSocket): { readonly certificate?: string; readonly validTo?: string } {
  try {
    const shown = socket.getPeerX509Certificate();
    if (!shown) return {};
    return { certificate: shown.subjectAltName ?? shown.subject, validTo: shown.validTo };
  } catch {
    return {};
  }
}
