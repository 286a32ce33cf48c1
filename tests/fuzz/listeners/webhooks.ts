import type { Random } from '../../faults/random.ts';
import { hostileTexts, mutatedBytes } from './bytes.ts';
import { answered, exchange, head, strange } from './http.ts';
import { announced, mutatedJson } from './json-text.ts';
import { fuzz } from './listener.ts';

const printable = (bytes: Buffer) => bytes.toString('latin1').replaceAll(/[^\x21-\x7e]/g, '');

/**
 * Sora's webhooks with a changed secret, path or body. A webhook without the secret of the path's endpoint is rejected.
 * With the secret, an event may change only the spare application's channel.
 */
// protects against sora/secret, sora/other-endpoint, sora/form, sora/path, sora/content
export const webhooks = fuzz('changed webhooks are rejected, or change only their own channel', {
  name: 'webhooks',
  atOnce: 4,
  async open({ stack, spare, spareSora, watchedSora, watched }) {
    const { host } = new URL(stack.soraWebhookUrl);
    const right = `/webhooks/sora/${spareSora.endpointId}`;
    return {
      async one(random) {
        const channels = [spareSora.channelId, spareSora.channelId, watchedSora.channelId, 'unknown'];
        const devices = [spare.devices[0]?.deviceId ?? '', watched.devices[0]?.deviceId ?? ''];
        const event = eventOf(random.pick(channels), random.pick(devices), random);
        const what = random.pick(['secret', 'path', 'body', 'body'] as const);
        const authorization =
          what === 'secret'
            ? wrongSecret(spareSora.secret, watchedSora.secret, random)
            : `Bearer ${spareSora.secret}`;
        const path = what === 'path' ? otherPath(right, watchedSora.endpointId, random) : right;
        const how =
          what === 'body'
            ? announced(mutatedJson(event, random), random)
            : announced(Buffer.from(JSON.stringify(event)), random);
        const method =
          what === 'path' && isSamePath(path, right) ? random.pick(['GET', 'PUT', 'HEAD', 'X']) : 'POST';
        const sent = [
          head(method, path, [
            ['Host', host],
            ...(method === 'HEAD' || random.chance(0.5) ? [['Connection', 'close'] as const] : []),
            ...(authorization === undefined ? [] : [['Authorization', authorization] as const]),
            ...(random.chance(0.1)
              ? [
                  [
                    'traceparent',
                    random.pick(['00-0-0-0', 'x', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`]),
                  ] as const,
                ]
              : []),
            ...how.headers,
          ]),
          ...how.pieces,
        ];
        const answer = await exchange(stack.soraWebhookUrl, sent, {
          end: how.end,
          ...(how.isIntact ? {} : { waitMs: 1500 }),
        });
        const { status = 0 } = answer;
        const isAccepted = status >= 200 && status < 400;
        const wrong =
          isAccepted && what !== 'body' ? `accepted with another ${what}` : strange(answer, method);
        return {
          ...{ sent: Buffer.concat(sent), expectsAnswer: how.isIntact && method !== 'X' },
          ...answered(answer),
          ...(wrong && { wrong }),
        };
      },
    };
  },
});

/** Whether the target is the valid path in absolute form (RFC 9112 3.2.2) or with an unused query. */
function isSamePath(target: string, right: string): boolean {
  return target.replace(/^https?:\/\/[^/?#]+/i, '').split('?', 1)[0] === right;
}

function wrongSecret(secret: string, other: string, random: Random): string | undefined {
  const bytes = printable(Buffer.from(mutatedBytes(Buffer.from(secret), random)));
  const value = random.pick([
    ...[
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${other}`,
      `Basic ${secret}`,
      secret,
      `Bearer ${secret}x`,
    ],
    ...[
      `Bearer ${secret.slice(0, -1)}`,
      `Bearer ${secret.toUpperCase()}x`,
      `Bearer "${secret}"`,
      `Bearer ${'x'.repeat(10_000)}`,
    ],
    `Bearer ${bytes === secret ? `${bytes}x` : bytes}`,
  ]);
  return value;
}

function otherPath(right: string, otherEndpoint: string, random: Random): string {
  const path = random.pick([
    ...[
      `/webhooks/sora/${otherEndpoint}`,
      '/webhooks/sora/',
      '/webhooks/sora',
      '/',
      `${right}/`,
      `${right}?a=1`,
      `/${right}`,
    ],
    ...[
      `/webhooks/sora/..%2f${otherEndpoint}`,
      `${right}%00`,
      `/webhooks/sora/__proto__`,
      `/webhooks/sora/${'x'.repeat(65)}`,
    ],
    ...[
      `/webhooks/sora/x/../${otherEndpoint}`,
      `http://a${right}x`,
      right.toUpperCase(),
      `${right}%2e`,
      right,
    ],
    printable(Buffer.from(mutatedBytes(Buffer.from(right), random))),
  ]);
  return path.startsWith('/') || path.startsWith('http') ? path : `/${path}`;
}

/** Returns an event of Sora. The same random numbers give the same event, except for ids of the world. */
function eventOf(channelId: string, deviceId: string, random: Random): Record<string, unknown> {
  const id = random.next().toString(36).slice(2);
  const connection = random.chance(0.1) ? `C${random.between(1, 5)}` : `C${id}`;
  const type = random.pick([
    ...[
      'connection.created',
      'connection.updated',
      'connection.destroyed',
      'archive.available',
      'archive.failed',
    ],
    ...['recording.report', 'recording.started', 'session.created', 'unknown', random.pick(hostileTexts)],
  ]);
  const created = new Date(Date.UTC(2026, 0, 1, 0, random.between(0, 59)));
  const timestamp = new Date(created.getTime() + 60_000).toISOString();
  return {
    ...{
      id,
      type,
      label: 'fuzz',
      node_name: 'sora@127.0.0.1',
      version: '2025.1.0',
      timestamp,
      role: 'sendrecv',
    },
    ...{ channel_id: channelId, client_id: connection, connection_id: connection },
    event_metadata: { deviceId },
    data: {
      ...{ created_time: created.getTime() / 1000, created_timestamp: created.toISOString(), minutes: 1 },
      ...{ destroyed_time: created.getTime() / 1000 + 60, destroyed_timestamp: timestamp, reason: 'normal' },
      ...{
        recording_id: id,
        channel_id: channelId,
        filename: `${id}.webm`,
        file_path: `/a/${id}.webm`,
        size: 1000,
      },
      ...{ audio: true, video: true, channel_connections: 1, metadata: { token: 'x' } },
    },
  };
}
