import { imei } from '@headset-cloud/cli/ids.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import { afterHint, afterOption, limitOption } from '@headset-cloud/cli/paging.ts';
import type { Command } from 'commander';
import type { Api } from '../api.ts';
import { typesOption } from '../event-types.ts';
import {
  type Beginning,
  beginningOptions,
  type FeedEvent,
  type FeedFilter,
  type FeedPosition,
  isSince,
  readFeed,
  startOf,
} from '../feed.ts';
import { interruptible, pause, type Session, untilSuccess } from '../session.ts';

interface EventsOptions {
  readonly after?: string;
  readonly since?: Beginning;
  readonly types?: string;
  readonly device?: string;
  readonly limit: number;
  readonly follow?: boolean;
  readonly resends?: boolean;
}

/** `events`. */
export function addEvents(program: Command, session: Session): void {
  const [since, from] = beginningOptions();
  program
    .command('events')
    .description('all callbacks of the application in order, delivered or not')
    .addOption(since)
    .addOption(from)
    .addOption(afterOption().conflicts('since'))
    .addOption(typesOption())
    .option('--device <imei>', 'only of this device', imei)
    .addOption(limitOption('events'))
    .option('--resends', 'include resent callbacks')
    .option('--follow', 'show new events until Ctrl-C; default: from now on')
    .addHelpText(
      'after',
      `
Without --since and --after: from the oldest stored event. Events are listed oldest first. With --resends a callback that
redeliver, recover or an operator sent again is listed again at the position of the resend.

Examples:
  $ hc events --since 1h
  $ hc events --follow --types notify-boot --json
`,
    )
    .action(async (options: EventsOptions) => {
      const filter: FeedFilter = {
        ...(options.types && { types: options.types }),
        ...(options.device && { deviceId: options.device }),
        ...(options.resends && { resends: true }),
      };
      const api = session.api('cws:application:read');
      await (options.follow ? follow : list)(session, api, filter, options);
    });
}

async function list(session: Session, api: Api, filter: FeedFilter, options: EventsOptions): Promise<void> {
  const start = await startOf(
    options.after === undefined ? (options.since ?? 'oldest') : 'oldest',
    (position, limit) => readFeed(api, filter, position, limit),
  );
  const events: FeedEvent[] = [];
  const sinceMs = start?.sinceMs ?? 0;
  let cursor = options.after ?? start?.cursor;
  let more = true;
  while (more && events.length < options.limit) {
    const page = await readFeed(api, filter, { cursor, sinceMs }, options.limit - events.length);
    events.push(...page.events.filter((event) => isSince(event, sinceMs)));
    ({ cursor, more } = page);
  }
  session.show({ events, cursor, more }, () => {
    const lines = events.map(eventLine).join('') || 'No events.\n';
    return lines + afterHint(more ? cursor : undefined);
  });
}

async function follow(session: Session, api: Api, filter: FeedFilter, options: EventsOptions): Promise<void> {
  const { stop, off } = interruptible(session);
  const retry = { stop, note: session.note };
  const read = (position: FeedPosition, limit: number) =>
    untilSuccess(() => readFeed(api, filter, position, limit), retry);
  try {
    const start =
      options.after === undefined
        ? await startOf(options.since ?? 'now', read)
        : { cursor: options.after, sinceMs: 0 };
    let cursor = start?.cursor;
    while (start && !stop.aborted) {
      const page = await read({ cursor, sinceMs: start.sinceMs }, options.limit);
      if (!page) break;
      for (const event of page.events) {
        if (isSince(event, start.sinceMs)) await session.emit(event, eventLine);
      }
      cursor = page.cursor;
      if (!page.more) await pause(session.pollMs, stop);
    }
  } finally {
    off();
  }
}

function eventLine({ createdAt, type, deviceId, webhookId, body, resend }: FeedEvent): string {
  const again = resend === undefined ? [] : ['(sent again)'];
  return `${[createdAt, type, deviceId ?? '-', webhookId, ...again, body].map(visible).join('  ')}\n`;
}
