import { attemptReasons, reasonOf } from './attempt-reason.ts';

test.each([
  [204, '', undefined],
  [500, 'answered 500', 'answered'],
  [307, 'answered 307', 'answered'],
  [410, 'answered 410', 'gone'],
  [0, 'ADDRESS_REFUSED: the address is not public', 'address_refused'],
  [0, 'EGRESS_PROXY: the egress proxy cannot be reached (ECONNREFUSED)', 'proxy'],
  [0, 'no complete answer within 100 ms', 'time_out'],
  [0, 'no TLS handshake within 5000 ms, through the egress proxy', 'time_out'],
  [0, 'UND_ERR_CONNECT_TIMEOUT: Connect Timeout Error', 'time_out'],
  [0, 'getaddrinfo ENOTFOUND a.example', 'dns'],
  [0, 'queryA ETIMEOUT a.example', 'time_out'],
  [0, 'CERT_HAS_EXPIRED: certificate has expired', 'tls'],
  [0, "ERR_TLS_CERT_ALTNAME_INVALID: Hostname/IP does not match certificate's altnames", 'tls'],
  [0, 'DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate', 'tls'],
  [0, 'connect ECONNREFUSED 10.0.0.1:443', 'connection'],
  [0, 'UND_ERR_SOCKET: other side closed', 'connection_lost'],
  [0, 'read ECONNRESET', 'connection_lost'],
  [0, 'Response does not match the HTTP/1.1 protocol (Expected HTTP/)', 'malformed'],
  [0, 'UND_ERR_SOCKET: bad upgrade', 'malformed'],
  [0, 'UND_ERR_HEADERS_OVERFLOW: Headers Overflow Error', 'answer_too_large'],
  [0, 'something new', 'other'],
])('%i %s is reported as %s', (statusCode, error, reason) => {
  expect(reasonOf({ statusCode, error })).toBe(reason);
});

test('reported reasons contain no address of the platform', () => {
  for (const text of Object.values(attemptReasons)) expect(text).not.toMatch(/\d{1,3}\.\d{1,3}\.|egress/);
});
