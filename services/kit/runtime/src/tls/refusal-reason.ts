import type { TLSSocket } from 'node:tls';

/** Reason of a failed TLS handshake: a text for operators, and the code of OpenSSL or Node. */
export interface HandshakeFailure {
  readonly reason: string;
  readonly code: string;
}

const expired = 'the certificate of the peer has expired';
const otherAuthority = 'the certificate of the peer is of another authority';
const refusedOwn = "the peer does not accept this process's certificate";
const noTls = 'the peer speaks no TLS';

/** By OpenSSL's and Node's codes; any other code is its own text. */
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

/** Interprets an error of a handshake; `code` is from a closed set, so it may identify a kind of log lines. */
export function failureOf(error: unknown): HandshakeFailure {
  const { code = 'unknown' } = (error ?? {}) as { code?: string };
  return { reason: reasons[code] ?? code, code };
}

const brokenOff = ['unknown', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'ERR_STREAM_DESTROYED'];

/** True if the connection ended without a TLS alert: the peer may just be stopping. */
export function isBrokenOff({ code }: HandshakeFailure): boolean {
  return brokenOff.includes(code);
}

/**
 * Returns why a peer's certificate is rejected after its handshake; undefined: this process's authorities signed the
 * certificate and it is valid now. Node's own check (`rejectUnauthorized`) requires `authorized` only, which a
 * resumed session has without a certificate. Never throws, whatever the certificate is.
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
