import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { ConnectError, type ConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { inCall, withActor } from '@headset-cloud/rpc/actor.ts';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import { operatorOf } from '@headset-cloud/rules/audit/operator.ts';
import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { addressText, ConfigError, type ListenAddress } from '@headset-cloud/runtime/config.ts';
import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { errorCatalogue, toDomainError } from '@headset-cloud/runtime/errors.ts';
import { closeNow, listenOn, portOf } from '@headset-cloud/runtime/http-listen.ts';
import type { Component, Warning } from '@headset-cloud/runtime/lifecycle.ts';
import { addressOf } from '@headset-cloud/runtime/listeners/address.ts';
import {
  defaultListeners,
  type Listeners,
  listenerTimes,
} from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { createRefusals } from '@headset-cloud/runtime/refusals.ts';
import { Counter, type Registry } from 'prom-client';

/**
 * Time that an idle connection stays open; milliseconds. Longer than the pauses between the calls of a slow command,
 * because a call fails if it is sent while the server closes its connection.
 */
const idleMs = 65_000;

/**
 * Time limit for reading a metric's value from a store. A metric without a value is left out. By default, Prometheus
 * drops the whole scrape of a process after 10 s.
 */
const defaultScrapeMs = 3000;

export interface AdminServerOptions {
  readonly clock?: Clock;
  /** Name of the process in `ctl status`. */
  readonly service: string;
  readonly listen: ListenAddress;
  /**
   * Bearer token for every path except the health checks; required when the listener is not on loopback.
   */
  readonly token: string | undefined;
  /** The previous token, which is also accepted. */
  readonly tokenBefore?: string | undefined;
  /** Token for /metrics only. */
  readonly metricsToken?: string | undefined;
  readonly bindings: readonly RpcBinding[];
  readonly metrics: Registry;
  /** Reasons why the process is not ready; empty when it is. */
  readonly notReady: () => string[];
  /** Dependencies that are unavailable while the process is ready; absent: none are monitored. */
  readonly warnings?: () => Warning[];
  readonly logger: Logger;
  readonly listeners?: Listeners;
  /** Time limit for the values of /metrics that come from a store; milliseconds. */
  readonly scrapeMs?: number;
}

/** State of a process as JSON, for operators. */
export interface ProcessStatus {
  readonly service: string;
  /** Version of the platform. */
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Why it is not ready; empty when it is. */
  readonly notReady: readonly string[];
  /** Dependencies that are unavailable while the process is ready; absent in release 0.1.0. */
  readonly warnings?: readonly Warning[];
}

/**
 * The admin port (rules C17, C18): /livez, /readyz with the reasons, /metrics, /status (ProcessStatus), and the
 * operators' RPCs over Connect. The public API never uses this port.
 */
export function createAdminServer(options: AdminServerOptions): Component & { port(): number } {
  const { listen, token, metrics, notReady, logger, listeners = defaultListeners } = options;
  if (!token && !['127.0.0.1', '::1', 'localhost'].includes(listen.host)) {
    throw new ConfigError([
      {
        setting: 'ADMIN_TOKEN',
        reason:
          `ADMIN_LISTEN: ${addressText(listen)} is reachable from outside, and ADMIN_TOKEN is not set. ` +
          'Set ADMIN_TOKEN (or ADMIN_TOKEN_FILE), or listen on this machine only. Example: ADMIN_LISTEN=127.0.0.1:9100',
      },
    ]);
  }
  const connect = connectNodeAdapter({
    routes: (router) => {
      for (const binding of options.bindings) addRoutes(router, binding, logger);
    },
    fallback: (_request, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('Not found.\n');
    },
  });

  const reportRefusal = createRefusals(
    new Counter({
      name: 'headset_admin_refused_total',
      help: 'Requests at the admin port that were refused: without a token, with a wrong one, or to a name that the listener does not answer to.',
      labelNames: ['reason'],
      registers: [metrics],
    }),
    ['token_missing', 'token_wrong', 'host'],
    (fields) => logger.warn(fields, 'a request at the admin port was refused'),
  );
  const refused = (why: Parameters<typeof reportRefusal>[0], request: IncomingMessage) => {
    const [path = ''] = request.url?.split('?') ?? [];
    reportRefusal(why, { address: addressOf(request, listeners.proxies), path });
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!token && !isOfThisMachine(request.headers.host)) {
      // Protects against DNS rebinding: a web page in an operator's browser can reach loopback by another host name.
      refused('host', request);
      return send(
        response,
        421,
        'text/plain',
        `This listener answers to localhost, 127.0.0.1 and [::1] only; set ADMIN_TOKEN, and it answers to every name.\n`,
      );
    }
    const path = request.url?.split('?')[0];
    if (path === '/livez') return send(response, 200, 'text/plain', 'ok\n');
    if (path === '/readyz') {
      const reasons = notReady();
      return send(
        response,
        reasons.length === 0 ? 200 : 503,
        'text/plain',
        `${reasons.join('\n') || 'ok'}\n`,
      );
    }
    const tokens = [token, options.tokenBefore, path === '/metrics' ? options.metricsToken : undefined];
    if (token && !tokens.some((one) => one !== undefined && carriesToken(request, one))) {
      refused(request.headers.authorization === undefined ? 'token_missing' : 'token_wrong', request);
      response.setHeader('www-authenticate', 'Bearer');
      return send(
        response,
        401,
        'application/json',
        '{"code":"unauthenticated","message":"The admin token is missing or wrong."}',
      );
    }
    if (path === '/status') {
      const status: ProcessStatus = {
        service: options.service,
        version: platformVersion(),
        startedAtMs: Math.round((options.clock ?? systemClock).now() - process.uptime() * 1000),
        notReady: notReady(),
        warnings: options.warnings?.() ?? [],
      };
      return send(response, 200, 'application/json', JSON.stringify(status));
    }
    if (path === '/metrics') {
      const text = await withDeadline(options.scrapeMs ?? defaultScrapeMs, () => metrics.metrics());
      return send(response, 200, metrics.contentType, text);
    }
    withActor(operatorOf(request, listeners.proxies), () => connect(request, response));
  };

  let server: Server | undefined;
  return {
    name: 'admin port',
    port: () => portOf(server),
    async start() {
      const starting = createServer({ ...listenerTimes, keepAliveTimeout: idleMs }, (request, response) => {
        answer(request, response).catch((error) => {
          logger.error({ err: error }, 'admin request failed');
          if (!response.headersSent) send(response, 500, 'text/plain', 'Internal error.\n');
        });
      });
      listeners.guard(starting, 'admin');
      await listenOn(starting, listen, 'ADMIN_LISTEN');
      server = starting;
    },
    stop: () => closeNow(server),
  };
}

function addRoutes(router: ConnectRouter, binding: RpcBinding, logger: Logger): void {
  const handlers: Record<string, unknown> = {};
  for (const [name, handler] of Object.entries(binding.handlers)) {
    const method = binding.service.method[name] as DescMethod;
    handlers[name] = async (request: never, context: { signal: AbortSignal }) => {
      try {
        return await inCall(method, () => handler(request, { signal: context.signal }));
      } catch (error) {
        const e = toDomainError(error);
        if (e.code === 'internal' || e.code === 'database_failed')
          logger.error({ rpc: name, err: error }, 'admin call failed');
        throw new ConnectError(e.message, errorCatalogue[e.code].grpc);
      }
    };
  }
  router.service(binding.service, handlers as Partial<ServiceImpl<DescService>>);
}

/**
 * The tokens in a process's configuration, named as in AdminServerOptions. Throws ConfigError if the metrics token
 * equals one of the operators' tokens.
 */
export function adminTokensOf(config: {
  readonly ADMIN_TOKEN?: string | undefined;
  readonly ADMIN_TOKEN_BEFORE?: string | undefined;
  readonly METRICS_TOKEN?: string | undefined;
}): Pick<AdminServerOptions, 'token' | 'tokenBefore' | 'metricsToken'> {
  const { ADMIN_TOKEN, ADMIN_TOKEN_BEFORE, METRICS_TOKEN } = config;
  if (METRICS_TOKEN !== undefined && [ADMIN_TOKEN, ADMIN_TOKEN_BEFORE].includes(METRICS_TOKEN)) {
    const reason =
      'METRICS_TOKEN is the operators’ token: everybody who reads metrics could make operator calls. Generate another token. Example: METRICS_TOKEN=another-long-random-text';
    throw new ConfigError([{ setting: 'METRICS_TOKEN', reason }]);
  }
  return { token: ADMIN_TOKEN, tokenBefore: ADMIN_TOKEN_BEFORE, metricsToken: METRICS_TOKEN };
}

/** True if a Host header names this machine, with any port. HTTP/1.1 requires the header. */
function isOfThisMachine(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host);
}

function carriesToken(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
