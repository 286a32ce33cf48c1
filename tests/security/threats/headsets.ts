import { listener } from './threat.ts';

/** Attacks through the headsets' stream. */
export const headsetListener = listener(
  'headsets',
  'Headset stream (device-link)',
  'the internet; the caller may have the key of one headset, and use another client',
  `
  token-none: no token, garbage, or another scheme | a token signed by the device's own key
  token-forged: alg none, HS256 under the public key, another key under the right key id | ES256 only, by the registered key of the device and key id
  token-times: expired, from the future, without an expiry, or valid for long | at most 5 minutes from iat to exp, by the server's clock
  token-audience: a token for another service, or an API token | a separate audience
  token-names: an unknown device, an unknown key id, __proto__, an object as the device | keys are looked up as data, by an IMEI and an id
  other-device-token: a headset that claims to be another one | the token's device must be the key's device
  removed-key: using a key that was removed | its sessions end within seconds, on every instance
  weak-key: registering a key that is not P-256, or a third one | checked at registration; two keys for a device
  shared-key: registering the key of one headset for another headset as well, to act for both | rejected while another device has the key
  copied-identity: a second headset with a copy of the first headset's key, which gets its operations and suppresses its reports | one session at a time; sessions that displace each other are counted, logged and shown to operators, who replace the key
  plaintext: an old TLS version, another protocol, plaintext at the TLS port | TLS 1.2 or newer with ALPN h2
  address-spoofed: a PROXY header that names another address, or is invalid | accepted from trusted proxies only; an invalid or missing header ends the connection
  other-transaction: requesting the start of another device's transaction | the start grant compares the device; the answer is the same as for an unknown transaction
  other-result: results, answers and held transactions of another device | reports are processed with the device of the session
  other-file: an upload in the name of another application or device, or a path with .. | the path is compared with the session's device and its activation
  other-ticket: a download with the ticket of another headset, changed or withdrawn | tickets are sealed and contain the device
  other-epoch: reports for an earlier or later activation | each report belongs to its activation; others are not visible
  other-service: calls of the platform's internal services at this listener | only the headsets' service is served here
  protocol: messages out of order, of unknown kind, truncated, empty, or no messages at all | the session ends with an error that blames the headset; nothing changes
  hello: a hello of another version, with ids out of range, or too long | rejected by its limits
  large-message: messages of megabytes | rejected by the announced length
  bomb: a small compressed message that grows to gigabytes | unpacked only up to the limit of a message
  report-values: NaN, times before 1970 or years ahead, unknown words, long texts | invalid values are omitted, texts and times are bounded
  usage: a headset reports more speech recognition than time has passed | at most a day in one report, and a month in a month's bill
  log-injection: line breaks and false fields in a headset's reports | a log line is one JSON object
  log-disclosure: a token or other metadata that gRPC rejects and its library would log | the log contains only the platform's own lines; that line is dropped
  log-flood: many rejected streams, so that the log is flooded | one line at most for a reason in 10 s, with the number of the others and a few examples; a metric counts each
  report-repeat: the same report again | each report id takes effect once
  report-flood: headsets report more than the log accepts, or report while the log is unavailable | a limit for each session and one for all of an instance; beyond them streams are not read, and nothing is lost
  crowd: connections without a stream, streams without a hello | a new connection replaces the one idle longest; only the newest stream of a device waits
  stream-flood: more HTTP/2 streams on one connection than a headset needs, and thousands that are reset at once | a limit of streams for each connection
  offline-suppressed: streams without a valid key, so that no headset is ever reported as offline | events before a token is accepted do not affect other headsets' status
  slow-reader: a headset that stops reading, even the end of its stream | the session ends; in every case its stream is closed 2 s later
  `,
);
