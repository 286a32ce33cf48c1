import { listener } from './threat.ts';

/** Attacks through the REST API. */
export const restListener = listener(
  'rest',
  'REST API (gateway)',
  'the internet; a caller may have a token for its own application, a stolen token, or none',
  `
  token-none: no token, garbage, or another scheme than Bearer | every call needs an access token
  token-unsigned: a token with alg none, in any spelling, or without its signature | a fixed list of asymmetric algorithms; the signature is always verified
  token-confusion: HS256 with the issuer's public key as its secret | HMAC is not on the list; a key is used only for its own kind of algorithm
  token-foreign-key: a token signed by another key under the issuer's key id, or that contains its key (jwk, jku) | only keys that the issuer publishes; of the header only alg and kid are read
  token-key-id: a key id that is a path, __proto__, an address, an object or very long | the id is only compared with those of the published keys
  token-weak-key: a token of a published key that is too short, a shared secret, or for encryption | RSA keys of 2048 bits or more, EC keys, and only those meant for signatures
  token-withdrawn-key: a token of a key that the issuer has withdrawn | verified tokens are forgotten when the issuer's keys change
  token-altered: claims changed after the signature was made | the signature covers header and claims
  token-expired: a token that has expired, that never expires, or whose times are no numbers | exp is required and checked by the gateway's clock, with 60 s of leeway
  token-future: a token that is not valid yet, or was issued in the future | nbf and iat are checked, with 60 s of leeway
  token-issuer: a genuine token of another issuer | iss must be the configured issuer
  token-audience: a genuine token for another service | aud must contain the platform's audience
  token-client: a token without a client, or with an object in its place | the client must be a text
  token-huge: a token of many kilobytes | tokens over 8192 characters are rejected before they are decoded
  token-of-headset: a headset's token at the API | other keys, issuer and audience than the API's
  token-elsewhere: a token in the query, the body or a cookie, where logs and browsers leak it | only the Authorization header is read
  key-flood: tokens with ever new key ids or wrong signatures, so that the issuer gets endless requests | one fetch of the keys per cooldown
  scope: a genuine token without the scope of the call | each operation names its scope in the contract
  other-application: calls for another customer's application | ownership of the application is checked for each call; the answer is the same as for a missing application
  other-device: calls for a device that another application has activated | the device's activation is compared in the service that owns it
  other-transaction: reading a transaction of another application | transactions are looked up together with the application
  other-events: reading another application's events or deliveries, by its cursors or ids, or by made-up ones | a cursor contains positions only; the application comes from the path, and its ownership is checked
  other-cancel: canceling another application's transactions | the device's activation is compared; only own transactions are canceled
  other-package: uploading, installing or listing another developer's package | a package belongs to the developer whose file was accepted first; before that an open upload reserves it
  other-answer: requesting the stored answer of another client by its Idempotency-Key | the key is scoped to client, method and path
  former-application: reading a headset's reports for the previous customer | reported values belong to an activation; the next application sees null
  client-id: taking another customer's client id | client ids are unique on the platform
  imei: activating a device that the contract does not name | the contract lists its devices
  path-tricks: dot segments, encoded slashes and dots, double encoding, look-alike characters, backslashes and path parameters to reach another application | the path is matched as it was sent, decoded once; an application id is compared as a whole
  path-unknown: paths and methods that are not in the contract, administration among them | everything else is 403, before the token is checked
  headers-override: X-HTTP-Method-Override, X-Original-URL, X-Forwarded-* and the like, to change an allowed call | these headers are not read, except for the address of a caller behind a trusted proxy
  address-spoofed: a false X-Forwarded-For to evade limits by address and the audit record | only trusted proxies' headers are used
  json-broken: bodies that are truncated, doubled, of another type, charset or encoding, or no JSON | strict UTF-8 and JSON; anything else is 400
  json-prototype: __proto__, constructor and toString as names | parsed as plain data, validated by the contract's schema, which has no such fields
  json-duplicate: a field twice, so that two readers see different values | duplicates are rejected
  json-nesting: thousands of levels, fields or digits | limits of depth and size before a value is used
  json-texts: NUL, control characters and unpaired surrogates in texts | rejected, or kept as data where the specification allows them
  mass-assignment: fields that the service sets, or another owner, in addition to the allowed ones | unknown fields are rejected
  operators-body: MongoDB's operators ($ne, $gt, $where, $regex) instead of a text | every field has its type in the schema
  operators-text: texts that look like operators, paths or SQL | values are never parsed again; field names come from the service
  operators-query: operators in queries, paths and names of parameters | parameters are parsed one by one by the contract; unknown ones are ignored
  header-injection: line breaks and colons in values that headers repeat (Location, X-Error-Detail, X-Request-Id) | printable ASCII only, escaped and bounded
  log-injection: line breaks, control characters and false fields in values that are logged | a log line is one JSON object; callers' values are fields of it
  log-disclosure: bodies, tokens and queries in the logs | logs contain routes and ids only; every test run ends with a search for its secrets in all logs
  errors-disclosure: provoking an error that reveals internals | errors have a fixed text; the cause stays in the log
  smuggling: two lengths, Content-Length with Transfer-Encoding, broken chunks, bare line feeds | rejected by a strict parser, and the connection is closed
  smuggled-request: a second request hidden in the body of the first | a body has one length; bytes after a rejected request are not read
  http-nonsense: bytes that are no HTTP/1.1, no Host, CONNECT, absolute targets with internal hosts | 400; an absolute target is read as its path, whatever its host (RFC 9112 3.2.2); the gateway is no proxy
  slow-headers: headers that come byte by byte | 10 s for all headers
  slow-body: a body that comes byte by byte, or stops | 10 s for the body; nothing happens before it is complete
  slow-reader: a client that does not read a long answer | the connection is closed, and nothing more is loaded for it
  body-flood: large bodies on many connections at once | a memory budget of the gateway, half of it for one client; small bodies do not count
  large-headers: floods of headers, long targets | 431 over 16 KiB
  large-body: bodies over the limit, announced, chunked or compressed | counted while read; 413; compressed bodies are rejected
  pipelining: many requests at once on one connection | answered in order, each with all checks; 16 at a time, then 503 and the end of the connection
  crowd: thousands of connections without a request | a new connection replaces the one idle longest
  half-requests: hundreds of incomplete requests | time limits for each; others are answered meanwhile
  call-flood: one client takes all capacity | limits for each client: rate, calls in progress, changes for a device
  documents-flood: endless requests without a token for the contract documents | a rate limit for each address, IPv6 by its /64; the documents are generated once at the start
  unknown-flood: a client requests other clients' applications, for which its limits do not count | a rate limit for rejections, before devices is called; its own applications and other clients are not affected
  overload: more calls, from many clients together, than the platform can answer in time | as many as can be answered in time are accepted, others are rejected at once; a client with few calls keeps its share
  device-flood: filling a device or an application with unprocessed transactions | limits of the contract, 429
  repeat: replaying a recorded changing call | a repeat under its Idempotency-Key changes nothing; with another body it is 422
  `,
);
