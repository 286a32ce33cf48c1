import { listener } from './threat.ts';

/** Attacks through the headsets' stream. */
export const headsetListener = listener(
  'headsets',
  'Headset stream (device-link)',
  'the internet; the caller may have the key of one headset, and its own client in its place',
  `
  token-none: no token, garbage, or another scheme | a token signed by the device's own key
  token-forged: alg none, HS256 under the public key, another key under the right key id | ES256 only, by the registered key of the device and key id
  token-times: expired, from the future, without an end, or valid for long | at most 5 minutes from iat to exp, by the server's clock
  token-audience: a token for another service, or an API token | an audience of its own
  token-names: an unknown device, an unknown key id, __proto__, an object as the device | keys are looked up as data, by an IMEI and an id
  other-device-token: a headset that says it is another one | the token's device must be the key's device
  removed-key: going on with a key that was removed | its sessions end within seconds, on every instance
  weak-key: registering a key that is not P-256, or a third one | checked at registration; two keys for a device
  shared-key: registering the key of one headset for another one as well, so that it speaks for both | refused while another device has it
  copied-identity: a second headset with a copy of the key of the first, so that it gets its operations and drops its reports | one session at a time; sessions that displace each other are counted, logged and shown to operators, who replace the key
  plaintext: an old TLS version, another protocol, plaintext at the TLS port | TLS 1.2 or newer with ALPN h2
  address-spoofed: a PROXY header that names another address, or is broken | taken from trusted proxies only; a broken or missing one ends the connection
  other-transaction: asking for the start of another device's transaction | the start permit compares the device; the answer is as for an unknown one
  other-result: results, answers and held transactions of another device | reports are judged together with the device of the session
  other-file: an upload in the name of another application or device, or a path upwards | the path is compared with the session's device and its activation
  other-ticket: a download with the ticket of another headset, changed or withdrawn | tickets are sealed, with the device inside
  other-epoch: reports for a former or later activation | each report belongs to its activation; others are not shown
  other-service: calls of the platform's inner services at this listener | only the headsets' service is served here
  protocol: messages out of order, of unknown kind, cut, empty, or no messages at all | the session ends as the headset's own fault; nothing changes
  hello: a hello of another version, with ids out of range, or too long | refused by its bounds
  large-message: messages of megabytes | refused by the announced length
  bomb: a small compressed message that grows to gigabytes | unpacked only up to the limit of a message
  report-values: NaN, times before 1970 or years ahead, unknown words, long texts | values without sense are left out, texts and times are bounded
  usage: a headset tells of more speech recognition than there was time | at most a day in one report, and a month in a month's bill
  log-injection: line breaks and false fields in what a headset tells | a log line is one JSON object
  log-disclosure: a token or other metadata that gRPC refuses, which its library would write to the log | a log has what the platform itself writes; that line is dropped
  log-flood: streams that are refused again and again, so that the log is flooded | one line at most for a reason in 10 s, with the number of the others and a few examples; a metric counts each
  report-repeat: the same report again | report ids take effect once
  report-flood: headsets report more than the log takes, or report on while it is away | a bound for each session and one for all of an instance; beyond them streams are not read, and nothing is lost
  crowd: connections without a stream, streams without a hello | the one that waits longest gives way; of one device only the newest stream waits
  stream-flood: more HTTP/2 streams on one connection than a headset needs, and thousands that are reset at once | a limit of streams for each connection
  offline-suppressed: streams without a valid key, so that no headset is ever reported as offline | what happens before a token is accepted has no part in other headsets' status
  slow-reader: a headset that takes nothing any more, not even the end of its stream | the session ends; whatever ended it, its stream is cut off 2 s later
  `,
);
