import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { Archives } from './archives.ts';

type Json = Record<string, unknown>;

/** Values that replace the simulator's own, and an additional header. */
export interface SendOptions {
  readonly secret?: string;
  readonly endpointId?: string;
  /** W3C trace context, like from a proxy in front of Sora. */
  readonly traceparent?: string;
}

/** A webhook. Each further call of `send` repeats it. */
export interface Webhook {
  readonly body: Json;
  /** Sends the webhook and returns the status. */
  send(options?: SendOptions): Promise<number>;
}

export interface SimulatedConnection {
  readonly channelId: string;
  readonly connectionId: string;
  readonly createdAtMs: number;
  readonly metadata: Json | undefined;
}

export interface SoraOptions {
  readonly endpointId: string;
  /** Bearer token of the webhooks. */
  readonly secret: string;
  /** Origin of the platform's webhook endpoint; a function if it may change. */
  readonly webhookUrl: string | (() => string);
  /** Default 0: the system chooses a port. */
  readonly port?: number;
}

/** A recording in the archive, with its webhooks. */
export interface SimulatedRecording {
  readonly recordingId: string;
  readonly reportFile: string;
  readonly webmFiles: readonly string[];
  readonly jsonFiles: readonly string[];
  /** archive.available (or archive.failed) of each connection, then recording.report. */
  readonly webhooks: readonly Webhook[];
}

const id = (): string => randomBytes(16).toString('hex').toUpperCase().slice(0, 26);

/**
 * Simulates Sora, a WebRTC SFU: event webhooks with Sora's field names, and an archive folder over HTTP. It sends
 * nothing automatically: tests create webhooks and send them once, twice, late or in the wrong order.
 */
export class SoraSimulator {
  readonly archives = new Archives();
  readonly #options: SoraOptions;
  readonly #server = createServer((incoming, response) => {
    void this.archives.serve(incoming, response);
  });

  constructor(options: SoraOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#options.port ?? 0, '127.0.0.1', resolve));
  }

  /** The archive_url for the endpoint's configuration. */
  get archiveUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/archive`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Creates an event webhook. */
  webhook(type: string, body: Json): Webhook {
    const full = {
      ...{ id: id(), type, label: 'simulator', node_name: 'sora@127.0.0.1', version: '2024.1.0' },
      timestamp: new Date().toISOString(),
      ...body,
    };
    return { body: full, send: (options = {}) => this.#send(full, options) };
  }

  /** Adds a client to a channel, without a webhook. */
  join(channelId: string, metadata?: Json, createdAtMs = Date.now()): SimulatedConnection {
    return { channelId, connectionId: id(), createdAtMs, metadata };
  }

  created(connection: SimulatedConnection): Webhook {
    return this.#ofConnection('connection.created', connection, connection.createdAtMs, {});
  }

  updated(connection: SimulatedConnection, atMs = Date.now()): Webhook {
    return this.#ofConnection('connection.updated', connection, atMs, {
      minutes: Math.floor((atMs - connection.createdAtMs) / 60_000),
    });
  }

  destroyed(connection: SimulatedConnection, atMs = Date.now()): Webhook {
    return this.#ofConnection('connection.destroyed', connection, atMs, {
      minutes: Math.floor((atMs - connection.createdAtMs) / 60_000),
      ...{ destroyed_time: Math.floor(atMs / 1000), destroyed_timestamp: new Date(atMs).toISOString() },
      reason: 'normal',
    });
  }

  /** Records connections of a channel: creates the files in the archive and their webhooks. */
  record(
    connections: readonly SimulatedConnection[],
    options: { webmBytes?: number; failed?: readonly SimulatedConnection[] } = {},
  ): SimulatedRecording {
    const recordingId = id();
    const channelId = connections[0]?.channelId ?? '';
    const archived = connections.map((connection) => {
      const { connectionId } = connection;
      const failed = options.failed?.includes(connection) ?? false;
      const [webm, json] = [`archive-${connectionId}.webm`, `archive-${connectionId}.json`];
      if (!failed) {
        this.archives.add(`${recordingId}/${webm}`, options.webmBytes ?? 1000);
        this.archives.add(`${recordingId}/${json}`, 300);
      }
      const data = {
        ...{ recording_id: recordingId, channel_id: channelId, connection_id: connectionId },
        ...{ filename: webm, file_path: `/var/sora/archive/${recordingId}/${webm}` },
        ...(!failed && {
          ...{ metadata_filename: json, metadata_file_path: `/var/sora/archive/${recordingId}/${json}` },
          size: options.webmBytes ?? 1000,
        }),
      };
      const body = { channel_id: channelId, connection_id: connectionId, data };
      return { data, webhook: this.webhook(failed ? 'archive.failed' : 'archive.available', body) };
    });
    const report = `report-${recordingId}.json`;
    this.archives.add(`${recordingId}/${report}`, 700);
    const data = {
      ...{ recording_id: recordingId, channel_id: channelId, filename: report },
      file_path: `/var/sora/archive/${recordingId}/${report}`,
      archives: archived.map((one) => one.data),
    };
    const path = (name: string) => `${recordingId}/${name}`;
    return {
      recordingId,
      reportFile: path(report),
      webmFiles: connections.map(({ connectionId }) => path(`archive-${connectionId}.webm`)),
      jsonFiles: connections.map(({ connectionId }) => path(`archive-${connectionId}.json`)),
      webhooks: [
        ...archived.map((one) => one.webhook),
        this.webhook('recording.report', { channel_id: channelId, data }),
      ],
    };
  }

  #ofConnection(type: string, connection: SimulatedConnection, atMs: number, data: Json): Webhook {
    const { channelId, connectionId, createdAtMs, metadata } = connection;
    return this.webhook(type, {
      timestamp: new Date(atMs).toISOString(),
      ...{ role: 'sendrecv', channel_id: channelId, client_id: connectionId, connection_id: connectionId },
      ...(metadata && { event_metadata: metadata }),
      data: {
        ...{ created_time: Math.floor(createdAtMs / 1000) },
        ...{ created_timestamp: new Date(createdAtMs).toISOString() },
        ...{ audio: true, audio_codec_type: 'OPUS', video: true, video_codec_type: 'VP9' },
        ...{ channel_connections: 1, total_received_bytes: 0, total_sent_bytes: 0 },
        ...data,
      },
    });
  }

  async #send(body: Json, { secret, endpointId, traceparent }: SendOptions): Promise<number> {
    const path = `/webhooks/sora/${endpointId ?? this.#options.endpointId}`;
    const { webhookUrl } = this.#options;
    const origin = typeof webhookUrl === 'string' ? webhookUrl : webhookUrl();
    const answer = await request(`${origin}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${secret ?? this.#options.secret}`,
        ...(traceparent && { traceparent }),
      },
      body: JSON.stringify(body),
    });
    await answer.body.dump();
    return answer.statusCode;
  }
}
