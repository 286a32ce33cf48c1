import { listener } from './threat.ts';

/** Attacks through the REST API. */
export const restListener = listener(
  'rest',
  'REST API (gateway)',
  'the internet; a caller may have a token of its own application, a stolen one, or none',
  `
  token-none: no token, garbage, or another scheme than Bearer | every call needs an access token
  token-unsigned: a token with alg none, in any spelling, or without its signature | a fixed list of asymmetric algorithms; the signature is always verified
  token-confusion: HS256 with the issuer's public key as its secret | HMAC is not on the list; a key is used only for its own kind of algorithm
  token-foreign-key: a token signed by another key under the issuer's key id, or that brings its key along (jwk, jku) | only keys that the issuer publishes; of the header only alg and kid are read
  token-key-id: a key id that is a path, __proto__, an address, an object or very long | the id is only compared with those of the published keys
  token-weak-key: a token of a published key that is too short, a shared secret, or for encryption | RSA keys of 2048 bits or more, EC keys, and only those meant for signatures
  token-withdrawn-key: a token of a key that the issuer has withdrawn | verified tokens are forgotten when the issuer's keys change
  token-altered: claims changed after the signature was made | the signature covers header and claims
  token-expired: a token that has expired, that never expires, or whose times are no numbers | exp is demanded and judged by the gateway's clock, with 60 s of leeway
  token-future: a token that is not valid yet, or was issued in the future | nbf and iat are judged, with 60 s of leeway
  token-issuer: a genuine token of another issuer | iss must be the configured issuer
  token-audience: a genuine token for another service | aud must contain the platform's audience
  token-client: a token without a client, or with an object in its place | the client must be a text
  token-huge: a token of many kilobytes | tokens over 8192 characters are refused before they are decoded
  token-of-headset: a headset's token at the API | other keys, issuer and audience than the API's
  token-elsewhere: a token in the query, the body or a cookie, where logs and browsers leak it | only the Authorization header is read
  key-flood: tokens with ever new key ids or wrong signatures, so that the issuer is asked without end | one fetch of the keys in a cooldown
  scope: a genuine token without the scope of the call | each operation names its scope in the contract
  other-application: calls for another customer's application | ownership of the application is asked for each call; the answer is as for one that does not exist
  other-device: calls for a device that another application has activated | the device's activation is compared in the service that owns it
  other-transaction: reading a transaction of another application | transactions are looked up together with the application
  other-events: reading another application's events or deliveries, by its cursors or ids, or by made-up ones | a cursor names places only; the application is the path's, whose ownership is asked
  other-cancel: cancelling what another application has begun | the device's activation is compared; only own transactions are canceled
  other-package: uploading, installing or listing another developer's package | a package belongs to the developer whose file was accepted first; before that an open upload holds it
  other-answer: asking for the kept answer of another client by its Idempotency-Key | the key is scoped to client, method and path
  former-application: reading what a headset reported under the customer before | reported values belong to an activation; the next application sees null
  client-id: taking another customer's client id | client ids are unique on the platform
  imei: activating a device that the contract does not name | the contract lists its devices
  path-tricks: dot segments, encoded slashes and dots, double encoding, look-alike characters, backslashes and path parameters that are to lead to another application | the path is matched as it was sent, decoded once; an application id is compared as a whole
  path-unknown: paths and methods that are not in the contract, administration among them | everything else is 403, before the token is looked at
  headers-override: X-HTTP-Method-Override, X-Original-URL, X-Forwarded-* and the like, to turn a call that is allowed into another | these headers are not read, but for the address of a caller behind a trusted proxy
  address-spoofed: a false X-Forwarded-For against limits by address and the audit record | only trusted proxies are believed
  json-broken: bodies that are cut, doubled, of another type, charset or encoding, or no JSON | strict UTF-8 and JSON; anything else is 400
  json-prototype: __proto__, constructor and toString as names | parsed as plain data, validated by the contract's schema, which has no such fields
  json-duplicate: a field twice, so that two readers see different values | duplicates are refused
  json-nesting: thousands of levels, fields or digits | bounds of depth and size before a value is used
  json-texts: NUL, control characters and unpaired surrogates in texts | refused, or carried as data where the specification allows them
  mass-assignment: fields that the service decides, or another owner, beside the allowed ones | unknown fields are refused
  operators-body: MongoDB's operators ($ne, $gt, $where, $regex) in place of a text | every field has its type in the schema
  operators-text: texts that look like operators, paths or SQL | values are never parsed again; names of fields are the service's own
  operators-query: operators in queries, paths and names of parameters | parameters are parsed one by one by the contract; unknown ones are ignored
  header-injection: line breaks and colons in values that come back in headers (Location, X-Error-Detail, X-Request-Id) | printable ASCII only, escaped and bounded
  log-injection: line breaks, control characters and false fields in values that are logged | a log line is one JSON object; callers' values are fields of it
  log-disclosure: bodies, tokens and queries that come into the logs | logs have routes and ids only; the end of every test run looks for its secrets in all logs
  errors-disclosure: provoking an error that tells how the inside looks | errors have a fixed text; the cause stays in the log
  smuggling: two lengths, Content-Length with Transfer-Encoding, broken chunks, bare line feeds | refused by a strict parser, and the connection is closed
  smuggled-request: a second request hidden in the body of the first | a body has one length; what follows a refused request is not read
  http-nonsense: bytes that are no HTTP/1.1, no Host, CONNECT, absolute addresses of inner hosts | 400; an absolute address is read as its path, whatever its host (RFC 9112 3.2.2); the gateway is no proxy
  slow-headers: headers that come byte by byte | 10 s for headers, also against slow progress
  slow-body: a body that comes byte by byte, or breaks off | 10 s for the body; nothing is done before it is whole
  slow-reader: a reader that takes nothing of a long answer | cut off, and nothing more is read for it
  body-flood: large bodies on many connections at once | a bound for all of a gateway, half of it for one client; small bodies need no room
  large-headers: floods of headers, long targets | 431 over 16 KiB
  large-body: bodies over the limit, announced, chunked or compressed | counted while read; 413; compressed bodies are not unpacked
  pipelining: many requests at once on one connection | served in their order, each by all its checks; 16 at a time, then 503 and the end of the connection
  crowd: thousands of connections without a request | the one that waits longest gives way
  half-requests: hundreds of requests that stop halfway | time limits for each; others are served meanwhile
  call-flood: one client takes all capacity | a share for each client: rate, calls under way, changes for a device
  documents-flood: without a token the contract documents are asked for without end | a rate for each address, IPv6 by its /64; they are made once at the start
  unknown-flood: a client asks for applications that are not its own, where it has no share | a rate for refusals, before devices is asked; its own applications and other clients continue
  overload: more calls, of many clients together, than the platform does before they are given up | as many as are answered in time continue, the others are refused at once; a client with few calls keeps its part
  device-flood: filling a device or an application with unprocessed transactions | limits of the contract, 429
  repeat: sending a changing call again that was recorded | a repeat under its Idempotency-Key changes nothing; with another body it is 422
  `,
);
