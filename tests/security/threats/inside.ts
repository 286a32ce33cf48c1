import { listener } from './threat.ts';

/** Attacks from inside the cluster: services, operators' listeners, log and stores. */
export const insideListeners = [
  listener(
    'services',
    'Between services (gRPC)',
    "whoever reaches the pods' network; a service that was taken over",
    `
    no-certificate: a caller without TLS, or with a certificate that is expired (also with a kept session), not valid yet, or of another authority | mutual TLS; no session is resumed
    log-flood: callers and connections that are refused again and again, so that the log is flooded | one line at most for a reason in 10 s, with the number of the others and examples; metrics count each
    renegotiation: a peer that shows another certificate after its own was accepted (TLS 1.2) | no renegotiation
    half-handshakes: connections that do not begin, or do not end their handshake | disconnected after 10 s; the oldest of more than 500 gives way
    other-service: a service's certificate used for a method that is another one's | each method names its callers in the proto; others are refused, logged and counted
    other-platform: a certificate of the same authority for another platform's service | the identity is the full name, with the platform's domain
    false-server: a server that answers in a service's place | the client demands the service's name, whatever address it dialled
    too-many-rights: a method that names callers who do not need it | a test compares the names with the calls in the code
    network: a pod that opens connections to others | NetworkPolicies deny everything but the listed calls
    production: a production start without mutual TLS, or with settings of a trial | refused by name at the start
    bad-files: a certificate that does not fit its key, or an unreadable authority | the start ends and names it; a reload keeps the one before
    `,
  ),
  listener(
    'operators',
    "Operators' listeners and ctl",
    "whoever reaches the admin port; a web page in an operator's browser",
    `
    token: no token, or a wrong one | ADMIN_TOKEN beyond loopback
    host: a page in an operator's browser that reaches loopback by DNS rebinding | without a token only names of this machine are served
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; what follows a refused request is not read; Host is judged
    metrics-token: using the token of the metrics for administration | it opens the metrics only
    other-listener: operators' calls at the API's port, or the other way round | listeners of their own
    unrecorded: a change that nobody can trace | each change stores its record in the same write; a test compares calls and records
    record-values: secrets in the records | records have names and ids, never values
    key-file: reading a generated key of another user of the machine | files of 0600
    secrets-shown: secrets in lists and in dead letters | never shown again; left out at any depth
    log-flood: callers that are refused again and again under ever new names, so that the log is flooded and memory fills | one line at most for a kind in 10 s, with the number of the others and a few examples; kinds and texts are bounded
    terminal: escape codes, false lines and bidirectional marks in what a headset or a client tells, as ctl shows it | shown as escapes, in tables, single values, errors and JSON
    passwords-logged: passwords in addresses of stores, in the logs | left out of every message
    logged-fields: tokens, keys, client secrets and bodies among the fields of a log line | left out, in errors and deeper fields, too
    run-secrets: any secret of a run in any log | the end of every test run looks for them; this test shows that it finds them
    `,
  ),
  listener(
    'stores',
    'Event log and stores',
    'a service that was taken over; who reads a backup or a disk',
    `
    poison: an event that cannot be read, or makes its consumer fail | set aside with its reason; the rest continues
    false-usage: usage under an id that was used, with other content | refused, and kept as a dead letter
    large-event: an event over the limit | refused; nothing of its call is stored
    headset-content: content of headsets that bursts an event or a document | bounded before it is stored
    sealed: reading keys and client secrets in a backup | sealed by SECRET_KEY (AES-256-GCM)
    ended-secret: reading client secrets, passwords of Wi-Fi and access points, or what apps were told, in transactions that ended long ago | taken out of the operation once it has ended
    sealed-moved: a sealed value that is changed, or used for another purpose | authenticated, with its purpose
    kafka: a broker that is another one, or a log-in that is wrong | TLS and SASL, verified; the reason is in the log
    mongodb: a server with an expired certificate or another name | verified; the reason is in the log
    files: reading the embedded stores as another user of the machine | 0600, folders 0700
    empty-key: a key file that a crash left empty or short, so that values would be sealed by a key that anybody knows | the start is refused and names the file
    example-secrets: a production start with a secret of the documentation | refused, and not shown
    `,
  ),
];
