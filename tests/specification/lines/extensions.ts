import { type Line, lines } from './line.ts';

/** Promises of the extensions, beyond the specification: gateway/openapi/cws_extension.yaml. */
export const extensionLines: readonly Line[] = [
  ...lines(
    'ext/contract',
    'the contract',
    `
    document: a separate document; the specified calls are not changed
    refusals: token, scope, developer, ownership, unknown methods and limits are checked as for the specified calls
    `,
  ),
  ...lines(
    'ext/test-callbacks',
    'test callbacks',
    `
    sent: a documented example is sent at once to a registered endpoint, signed with the application's key and marked as a test, and is no event
    result: status, time, TLS, the beginning of the answer, and the reason of a failure in words, within 15 s
    verify: a second request with a wrong signature shows whether the receiver rejects it
    limit: at most five of an application at the same time, then 429
    `,
  ),
  ...lines(
    'ext/device-statuses',
    'device statuses',
    `
    pages: by cursor and limit in the order of device ids; no device is repeated or missing while it does not change
    filters: activated since, network, battery below, client version, each by values that the application may read
    cursor: an unknown cursor is 400, and the error says how to continue
    `,
  ),
  ...lines(
    'ext/software',
    'versions of software',
    `
    withdraw: a developer withdraws a version that no update has used, and uploads it again; any other version is 404 or 409
    `,
  ),
  ...lines(
    'ext/catalogue',
    'the catalogue',
    `
    event-types: each type of callback with its setting, its JSON Schema and its examples, as cws_notification.yaml has them
    documents: the four contract documents as YAML and JSON without a token, with ETag
    documents-limit: an address gets them at most 20 times a second
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
    from: with a start time it has all events created then or later, and few older ones
    resends: callbacks that were sent again appear once more behind the events read before, only on request
    cursors: later events come behind every issued cursor; unknown, foreign, expired cursors and those of other filters are 400, and the error says how to continue
    `,
  ),
  ...lines(
    'ext/deliveries',
    'deliveries',
    `
    list: newest first, by state, setting, type, device, transaction and time, each once
    attempts: each with time, status or a reason in words, duration, and the first 1 KiB of a failed answer, without key and signature
    redeliver: the same body and webhook-id again; once for one Idempotency-Key
    recover: all deliveries that ended without success since a time, rate-limited, with progress; each at most once in one recovery, also after crashes; too many are rejected with their number
    force: deliveries that never failed are sent again by force only; pending or replaced ones are not
    `,
  ),
  ...lines(
    'ext/hc',
    "the integrators' command",
    `
    listen: every event goes to a server of the integrator, in order and with valid signatures; after a kill no event is missed, and only the event in progress may come twice
    verify: reports which signature of a stored callback is valid, or whether time, key or body are wrong
    commands: test callbacks, events, deliveries, recoveries, devices and transactions, as text and as JSON
    `,
  ),
  ...lines(
    'ext/notices',
    'notices',
    `
    setting: noticeEvent is set and read by a separate call, validated like the other URLs; the specified settings do not show it
    failing: an endpoint that accepts nothing for an hour causes one notice with its start, the last reason and the waiting callbacks, and one for its recovery
    dead: a notice reports callbacks that were given up, with their number, the first and the last one, and how to send them again; at most one notice a minute
    feed: each notice is in the event feed, and is sent, signed and retried like any callback
    itself: without an endpoint, and about the notices' endpoint itself, notices are in the feed only
    `,
  ),
];
