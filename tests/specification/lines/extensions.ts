import { type Line, lines } from './line.ts';

/** What the extensions promise beyond the specification: gateway/openapi/cws_extension.yaml. */
export const extensionLines: readonly Line[] = [
  ...lines(
    'ext/contract',
    'the contract',
    `
    document: a document of its own; the specified calls are not changed
    refusals: token, scope, developer, ownership, unknown methods and limits are judged as for the specified calls
    `,
  ),
  ...lines(
    'ext/test-callbacks',
    'test callbacks',
    `
    sent: a documented example goes out now to a registered destination, signed with the application's key and marked as a test, and is no event
    told: status, time, TLS, the beginning of the answer, and the reason of a failure in words, within 15 s
    verify: a second request with a wrong signature shows whether the receiver refuses it
    limit: five of an application at the same time, else 429
    `,
  ),
  ...lines(
    'ext/device-statuses',
    'device statuses',
    `
    pages: by cursor and limit in the order of device ids; no device twice or missing while it does not change
    filters: activated since, network, battery below, client version, each by what the application may read
    cursor: one that the list did not give is 400 and says how to continue
    `,
  ),
  ...lines(
    'ext/software',
    'versions of software',
    `
    withdraw: a version that no update was ever sent with is withdrawn by its developer and uploaded again; any other one is 404 or 409
    `,
  ),
  ...lines(
    'ext/catalogue',
    'the catalogue',
    `
    event-types: each type of callback with its setting, its JSON Schema and its examples, as cws_notification.yaml has them
    documents: the four contract documents as YAML and JSON without a token, with ETag
    documents-limit: one address gets them at most 20 times a second
    `,
  ),
  ...lines(
    'ext/feed',
    'the event feed',
    `
    form: each event with webhook-id, type, setting, device, time and the body as it is signed, byte for byte
    all: every callback that arrived, each once
    alone: all callbacks of an application without any endpoint
    order: the callbacks of a device in one order for all readers, whatever their limits; those of a transaction in theirs
    from: with a time it has all events that were created then or later, and few older ones
    resends: what was sent again comes once more behind what was read before, for those who ask for it, and else not
    cursors: what is stored later comes behind every cursor that was given; unknown, foreign, expired cursors and those of other filters are 400 and say how to continue
    `,
  ),
  ...lines(
    'ext/deliveries',
    'deliveries',
    `
    list: newest first, by state, setting, type, device, transaction and time, each once
    attempts: each with time, status or the reason in words, duration, and the first 1 KiB of an answer that is no success, without key and signature
    redeliver: the same body and webhook-id again; once for one Idempotency-Key
    recover: all that ended without success since a time, at a pace, with progress; each once at most in one recovery, though processes die; too many are refused with their number
    force: what never failed is sent again by force only; what is still to be sent, or was replaced, is not
    `,
  ),
  ...lines(
    'ext/hc',
    "the integrators' command",
    `
    listen: every event goes to a server of the integrator's, in its order and signed as always; after a kill nothing is missed, and at most what was under way comes twice
    verify: of a stored callback it is told which signature is right, or whether time, key or body are wrong
    commands: test callbacks, events, deliveries, recoveries, devices and transactions, as text and as JSON
    `,
  ),
  ...lines(
    'ext/notices',
    'notices',
    `
    setting: noticeEvent is set and read by a call of its own, judged as the other addresses; the specified settings do not show it
    failing: a setting whose address takes nothing for an hour is told once with since when, the last reason and what waits; so is its recovery
    dead: callbacks that were given up are told with their number, the first and the last one, and how to send them again; at most one notice a minute
    feed: each notice is in the event feed, and is sent, signed and tried again as any callback
    itself: where no address is set, and about the address for notices itself, in the feed only
    `,
  ),
];
