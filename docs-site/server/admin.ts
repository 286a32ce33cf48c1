import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { originForm } from './routing.ts';

/** Counts answers by status; the text is Prometheus's. */
export class Metrics {
  readonly #answers = new Map<number, number>();
  readonly #startedAt = Date.now();

  count(status: number): void {
    this.#answers.set(status, (this.#answers.get(status) ?? 0) + 1);
  }

  text(): string {
    const lines = [
      '# HELP site_http_responses_total Answers of the public port by status.',
      '# TYPE site_http_responses_total counter',
      ...[...this.#answers]
        .sort()
        .map(([status, count]) => `site_http_responses_total{status="${status}"} ${count}`),
      '# HELP process_resident_memory_bytes Resident memory size in bytes.',
      '# TYPE process_resident_memory_bytes gauge',
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
      '# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.',
      '# TYPE process_start_time_seconds gauge',
      `process_start_time_seconds ${Math.floor(this.#startedAt / 1000)}`,
    ];
    return `${lines.join('\n')}\n`;
  }
}

export interface AdminOptions {
  readonly token: string | undefined;
  /** Reads /metrics as well. */
  readonly metricsToken: string | undefined;
  readonly metrics: Metrics;
  readonly ready: () => boolean;
}

/** The admin port: /livez, /readyz and, with the token where one is set, /metrics. */
export function buildAdmin({ token, metricsToken, metrics, ready }: AdminOptions): Server {
  return createServer((request, response) => {
    const path = originForm(request.url ?? '/').split('?')[0];
    if (path === '/livez') return send(response, 200, 'ok\n');
    if (path === '/readyz')
      return ready() ? send(response, 200, 'ok\n') : send(response, 503, 'the server is stopping\n');
    const may = (one: string | undefined) => one !== undefined && bears(request, one);
    if (token && !may(token) && !(path === '/metrics' && may(metricsToken))) {
      response.setHeader('www-authenticate', 'Bearer');
      return send(response, 401, 'The admin token is missing or wrong.\n');
    }
    if (path === '/metrics')
      return send(response, 200, metrics.text(), 'text/plain; version=0.0.4; charset=utf-8');
    return send(response, 404, 'Not found.\n');
  });
}

function bears(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
