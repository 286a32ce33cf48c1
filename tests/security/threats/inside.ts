import { listener } from './threat.ts';

/** Attacks from inside the cluster: services, operators' listeners, log and stores. */
export const insideListeners = [
  listener(
    'services',
    'Between services (gRPC)',
    "an attacker in the pods' network; a compromised service",
    `
    no-certificate: a caller without TLS, or with a certificate that is expired (also with a resumed session), not valid yet, or of another authority | mutual TLS; no session is resumed
    log-flood: many rejected callers and connections, so that the log is flooded | one line at most for a reason in 10 s, with the number of the others and examples; metrics count each
    renegotiation: a peer that presents another certificate after its first was accepted (TLS 1.2) | no renegotiation
    half-handshakes: connections that do not start or complete their handshake | disconnected after 10 s; beyond 500 the oldest is closed
    other-service: a service's certificate used for a method of other callers | each method names its callers in the proto; others are rejected, logged and counted
    other-platform: a certificate of the same authority for another platform's service | the identity is the full name, with the platform's domain
    false-server: a server that impersonates a service | the client requires the service's name, whatever the address
    too-many-rights: a method that names callers that do not need it | a test compares the names with the calls in the code
    network: a pod that opens connections to others | NetworkPolicies deny everything but the listed calls
    production: a production start without mutual TLS, or with settings of a trial | rejected by name at the start
    bad-files: a certificate that does not match its key, or an unreadable authority | the start fails and names it; a reload keeps the previous one
    `,
  ),
  listener(
    'operators',
    "Operators' listeners and ctl",
    "an attacker who reaches the admin port; a web page in an operator's browser",
    `
    token: no token, or a wrong one | ADMIN_TOKEN beyond loopback
    host: a page in an operator's browser that reaches loopback by DNS rebinding | without a token only host names of this machine are served
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; bytes after a rejected request are not read; Host is checked
    metrics-token: using the token of the metrics for administration | it is valid for the metrics only
    other-listener: operators' calls at the API's port, or the reverse | separate listeners
    unrecorded: a change that cannot be traced | each change stores its record in the same write; a test compares calls and records
    record-values: secrets in the records | records have names and ids, never values
    key-file: reading a generated key of another user of the machine | files of 0600
    secrets-shown: secrets in lists and in dead letters | never shown again; omitted at any depth
    log-flood: many rejected callers under many names, so that the log is flooded and memory fills | one line at most for a kind in 10 s, with the number of the others and a few examples; kinds and texts are bounded
    terminal: escape codes, false lines and bidirectional marks in values of headsets and clients that ctl shows | shown as escapes, in tables, single values, errors and JSON
    passwords-logged: passwords in addresses of stores, in the logs | omitted from every message
    logged-fields: tokens, keys, client secrets and bodies among the fields of a log line | omitted, also in errors and nested fields
    run-secrets: any secret of a run in any log | every test run ends with a search for them; this test proves that the search finds them
    `,
  ),
  listener(
    'stores',
    'Event log and stores',
    'a compromised service; an attacker who reads a backup or a disk',
    `
    poison: an event that cannot be read, or makes its consumer fail | becomes a dead letter with its reason; the rest continues
    false-usage: usage under a used id with other content | rejected, and kept as a dead letter
    large-event: an event over the limit | rejected; nothing of its call is stored
    headset-content: content of headsets that exceeds an event or a document | bounded before it is stored
    sealed: reading keys and client secrets in a backup | sealed by SECRET_KEY (AES-256-GCM)
    ended-secret: reading client secrets, passwords of Wi-Fi and access points, or commands for apps, in transactions that ended long ago | removed from the operation when it ends
    sealed-moved: a sealed value that is changed, or used for another purpose | authenticated, with its purpose
    kafka: a false broker, or wrong credentials | TLS and SASL, verified; the reason is in the log
    mongodb: a server with an expired certificate or another name | verified; the reason is in the log
    files: reading the embedded stores as another user of the machine | 0600, folders 0700
    empty-key: a key file that a crash left empty or short, so that values would be sealed by a known key | the start fails and names the file
    example-secrets: a production start with a secret of the documentation | rejected, and not shown
    `,
  ),
];
