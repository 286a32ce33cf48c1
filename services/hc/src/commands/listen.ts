import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { usageError } from '@headset-cloud/cli/exit-codes.ts';
import { imei } from '@headset-cloud/cli/ids.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import { type Command, InvalidArgumentError } from 'commander';
import type { Api } from '../api.ts';
import { isThisMachine, readCredentials } from '../credentials.ts';
import { typesOption } from '../event-types.ts';
import {
  type Beginning,
  beginningOptions,
  type FeedFilter,
  type FeedPosition,
  readFeed,
  startOf,
} from '../feed.ts';
import { stateFolder } from '../folders.ts';
import { type Forwarded, listen } from '../listen/listen.ts';
import { PositionFile } from '../listen/position.ts';
import { type Session, untilSuccess } from '../session.ts';
import { applicationKey, keyOfFile, ownKeyOrNew, type SigningKey } from '../signing-keys.ts';

/** Maximum difference between the clocks of the cloud and this machine; milliseconds. */
const clockMarginMs = 2 * 3_600_000;

interface ListenFlags {
  readonly forwardTo: URL;
  readonly since?: Beginning;
  readonly types?: string;
  readonly device?: string;
  readonly key?: string;
  readonly ownKey?: boolean;
  readonly resends: boolean;
  readonly allowHttp?: boolean;
}

/** `listen`. */
export function addListen(program: Command, session: Session): void {
  const [since, from] = beginningOptions();
  program
    .command('listen')
    .description('forward all callbacks of the application, with valid signatures, to a local server')
    .requiredOption(
      '--forward-to <url>',
      'URL of the server, for example http://localhost:3000/callbacks',
      targetUrl,
    )
    .addOption(since)
    .addOption(from)
    .addOption(typesOption())
    .option('--device <imei>', 'only of this device', imei)
    .option('--no-resends', 'leave out callbacks that redeliver, recover or an operator sends again')
    .option(
      '--key <file>',
      'sign with the key in this file instead of the application’s key; -: standard input',
    )
    .option('--own-key', "sign with hc's own key, which is shown at the start")
    .option('--allow-http', 'allow plain http to another machine, where callbacks can be intercepted')
    .addHelpText(
      'after',
      `
The first run starts with new events. A later run with the same application, URL, --types and --device continues where
the first run stopped, even if that run was killed. No event is lost, and the event in progress may arrive twice, with the
same webhook-id. An event that is not answered with 2xx is retried, and later events wait, like in the cloud. 410 drops
the event. Callbacks that deliveries redeliver, recover or an operator sends again are forwarded, too.

Devices can be operated only while deviceEvent is registered. If the cloud cannot reach your server, register any URL of
yours. Callbacks are signed with the application's key, which is read from its settings (cws:application:read) and never
stored or shown. If no key was issued, hc signs with its own key, which it shows.

Examples:
  $ hc listen --forward-to http://localhost:3000/callbacks
  $ hc listen --forward-to http://localhost:3000 --since 1h --types notify-boot
  $ hc listen --forward-to http://localhost:3000 --json | jq 'select(.status != 204)'
`,
    )
    .action((flags: ListenFlags) => run(session, flags));
}

async function run(session: Session, flags: ListenFlags): Promise<void> {
  if (flags.key !== undefined && flags.ownKey) {
    throw usageError('Give one of --key and --own-key.');
  }
  if (flags.forwardTo.protocol === 'http:' && !flags.allowHttp && !isThisMachine(flags.forwardTo.hostname)) {
    throw usageError(
      `${shownUrl(flags.forwardTo)} is plain http to another machine, where callbacks can be intercepted. Use https, or allow http with --allow-http.`,
    );
  }
  const api = session.api('cws:application:read');
  const filter: FeedFilter = {
    ...(flags.types && { types: flags.types }),
    ...(flags.device && { deviceId: flags.device }),
    resends: flags.resends,
  };
  const { stop, abortRequest, off } = onInterrupts(session);
  const retry = { stop, note: session.note };
  try {
    const { key, readKey } = await signing(session, api, flags);
    const read = (position: FeedPosition, limit: number) =>
      untilSuccess(() => readFeed(api, filter, position, limit), retry);
    const opened = await PositionFile.open(
      positionPath(session, flags, filter),
      flags.since !== undefined,
      async () => {
        const from = flags.since ?? 'now';
        const start = await startOf(from, read);
        if (!start) return undefined;
        const wantedSinceMs = from === 'oldest' ? 0 : from === 'now' ? Date.now() - clockMarginMs : from;
        return { position: { cursor: start.cursor, skipBeforeMs: start.sinceMs }, wantedSinceMs };
      },
    );
    if (!opened) return;
    const { file: positionFile, isNew } = opened;
    try {
      session.note(
        `Forwarding callbacks of ${api.applicationId} to ${shownUrl(flags.forwardTo)}, signed with ${key.whose}. Ctrl-C ends.`,
      );
      session.note(isNew ? beginningText(flags.since ?? 'now') : 'Continuing where the last run stopped.');
      await listen({
        ...{
          api,
          filter,
          target: flags.forwardTo,
          positionFile,
          key,
          readKey,
          stop,
          abortRequest,
          pollMs: session.pollMs,
        },
        show: (forwarded) => session.emit(asJson(forwarded), () => forwardedLine(forwarded)),
        note: session.note,
      });
    } finally {
      positionFile.close();
    }
    session.note('Ended. The next run continues from here.');
  } finally {
    off();
  }
}

/** The current signing key, and a function that reads it again. */
async function signing(
  session: Session,
  api: Api,
  { key: file, ownKey }: ListenFlags,
): Promise<{ key: SigningKey; readKey: () => Promise<SigningKey> }> {
  const fixed = (key: SigningKey) => ({ key, readKey: async () => key });
  if (file !== undefined) return fixed(await keyOfFile(session.files, file));
  const issued = ownKey ? undefined : await applicationKey(api);
  if (issued) return { key: issued, readKey: async () => (await applicationKey(api)) ?? issued };
  const own = ownKeyOrNew(session.env);
  session.note(
    `${ownKey ? '' : 'The application has no key yet (POST …/refresh_authkey issues one). '}Verify with hc's own key on your server: ${own.key}`,
  );
  return fixed(own);
}

/** Signals for Ctrl-C: the first aborts `stop` (no new work), the second `abortRequest` (the request in progress). */
function onInterrupts({ onInterrupt, note }: Session): {
  readonly stop: AbortSignal;
  readonly abortRequest: AbortSignal;
  off(): void;
} {
  const [stop, abortRequest] = [new AbortController(), new AbortController()];
  const off = onInterrupt(() => {
    if (stop.signal.aborted) abortRequest.abort();
    else {
      note('Stopping when the event in progress is answered. Press Ctrl-C again to stop now.');
      stop.abort();
    }
  });
  return { stop: stop.signal, abortRequest: abortRequest.signal, off };
}

/** Path of the position file: one for each combination of feed, filter and target. */
function positionPath(session: Session, { forwardTo }: ListenFlags, filter: FeedFilter): string {
  const { env, options } = session;
  const { apiUrl, applicationId } = readCredentials(env, {
    profile: options.profile,
    ...(options.application && { application: options.application }),
  });
  const what = JSON.stringify([
    ...[apiUrl, applicationId, forwardTo.href],
    ...[filter.types ?? '', filter.deviceId ?? ''],
  ]);
  const name = createHash('sha256').update(what).digest('hex').slice(0, 32);
  return join(stateFolder(env), 'listen', `${name}.jsonl`);
}

/** Parses the target for commander. An address without http:// is accepted. */
function targetUrl(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new InvalidArgumentError(
      'It is not an http or https address such as http://localhost:3000/callbacks.',
    );
  }
  url.hash = '';
  return url;
}

/** The URL without its password. */
function shownUrl(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}

function beginningText(from: Beginning): string {
  if (from === 'now') {
    return 'Starting with new events (--since oldest or --since 2h also forwards earlier events).';
  }
  if (from === 'oldest') return 'Starting with the oldest stored event.';
  return `Starting with events since ${new Date(from).toISOString()}.`;
}

function asJson({ event, ...result }: Forwarded): object {
  const { webhookId, type, destination, deviceId, createdAt, resend = null } = event;
  const { status = null, reason = null, nextInMs = null, durationMs, attempt, outcome } = result;
  return {
    ...{ at: new Date().toISOString(), webhookId, type, destination, deviceId, createdAt, resend },
    ...{ attempt, status, durationMs, outcome, reason, nextInMs },
  };
}

function forwardedLine(forwarded: Forwarded): string {
  const { event, status, durationMs, attempt, outcome, reason, nextInMs } = forwarded;
  const parts = [
    new Date().toISOString(),
    String(status ?? '---'),
    `${durationMs} ms`.padStart(8),
    event.type,
    event.webhookId,
  ];
  const why = reason ? `: ${reason}` : '';
  if (event.resend !== undefined) parts.push('(sent again)');
  if (outcome === 'again') {
    parts.push(`(attempt ${attempt}, retry in ${Math.round((nextInMs ?? 0) / 100) / 10} s${why})`);
  } else if (outcome === 'gone') parts.push(`(dropped, like in the cloud after 410${why})`);
  else if (attempt > 1) parts.push(`(attempt ${attempt})`);
  return `${parts.map(visible).join('  ')}\n`;
}
