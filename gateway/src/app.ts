import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import { BlockList } from 'node:net';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { addressOf } from '@headset-cloud/runtime/listeners/address.ts';
import { BodyMemory } from '@headset-cloud/runtime/listeners/body-memory.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import type { Registry } from 'prom-client';
import { createAdmission } from './admission/admission.ts';
import type { GatewayClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { AddressRate } from './http/address-rate.ts';
import { GatewayError } from './http/errors.ts';
import { observe, type RequestState } from './http/observe.ts';
import { type ApiOperation, apiDocuments, operationsOf, readDocument } from './openapi/document.ts';
import { SchemaCompiler } from './openapi/validators.ts';
import { createOwnership } from './ownership.ts';
import { type CallRunner, createCallRunner } from './pipeline.ts';
import { createHandlers } from './routes/index.ts';
import { publishedDocuments, sendDocument } from './routes/openapi.ts';
import type { Shares } from './shares/shares.ts';
import type { TokenVerifier } from './tokens/types.ts';

export interface GatewayOptions {
  readonly clients: GatewayClients;
  readonly tokens: TokenVerifier;
  readonly config: Pick<GatewayConfig, 'BODY_LIMIT_BYTES' | 'UPSTREAM_DEADLINE_MS'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Registry;
  readonly shares: Shares;
  /** Addresses of trusted proxies, each of which forwards requests of many clients; absent: no proxies. */
  readonly proxies?: BlockList;
}

/** The REST API, before it listens. */
export interface Gateway {
  readonly handler: (req: IncomingMessage, res: ServerResponse) => void;
  /** The operations of the documents that the gateway serves. */
  readonly operations: readonly ApiOperation[];
}

/**
 * Builds the gateway from cws_api.yaml and cws_extension.yaml: the documents' paths are the routes, and their schemas
 * are the checks (rule C19). Throws if the operations of the documents and of the handlers differ.
 */
export function buildGateway(options: GatewayOptions): Gateway {
  const { clients, tokens, config, logger, clock, metrics, shares, proxies = new BlockList() } = options;
  const described = apiDocuments.flatMap((name) => {
    const document = readDocument(name);
    const compiler = new SchemaCompiler(name, document);
    return operationsOf(document).map((operation) => ({ operation, compiler }));
  });
  const operations = described.map(({ operation }) => operation);
  const services = Object.entries(createHandlers(clients, clock));
  const handlers = new Map(
    services.flatMap(([service, handlersOfService]) =>
      Object.entries(handlersOfService).map(([id, handler]) => [id, { service, handler }]),
    ),
  );
  requireSameOperations(operations, handlers);

  const ownership = createOwnership(clients.applications, clock, shares);
  const bodies = new BodyMemory();
  const admission = createAdmission(
    services.map(([service]) => service),
    metrics,
  );
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  rejectOtherMethods(router, operations);
  rejectUndocumentedMethods(router, operations);
  for (const { operation, compiler } of literalFirst(described)) {
    const served = handlers.get(operation.operationId);
    if (!served) continue;
    const run = createCallRunner(operation, served.handler, {
      ...{ tokens, ownership, shares, bodies, compiler, proxies, clock },
      admit: (clientId, work) => admission.admit(served.service, clientId, work),
      bodyLimitBytes: Math.max(config.BODY_LIMIT_BYTES, operation.bodyLimitBytes ?? 0),
      totalMs: Math.max(config.UPSTREAM_DEADLINE_MS, operation.deadlineMs ?? 0),
    });
    serve(router, operation, run);
  }
  serveDocuments(router, proxies, clock);

  const app = new Koa<RequestState>();
  app.on('error', (error: Error) => logger.debug({ err: error }, 'connection failed'));
  app.use(observe({ logger, metrics, proxies, clock }));
  app.use(router.routes());
  app.use(() => {
    throw unknownPath();
  });
  return { handler: app.callback() as Gateway['handler'], operations };
}

function unknownPath(): GatewayError {
  return new GatewayError('unknown_path', 'There is no such path or method.');
}

/** Converts OpenAPI's {name} to the router's :name. */
const routerPath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Sorts paths with fewer parameters first, so that `devices/status` is not matched as a device. */
function literalFirst<T extends { readonly operation: ApiOperation }>(described: readonly T[]): T[] {
  const parameters = ({ operation }: T) => operation.path.split('{').length;
  return described.toSorted((a, b) => parameters(a) - parameters(b));
}

function serve(router: Router<RequestState>, operation: ApiOperation, run: CallRunner): void {
  router.register(routerPath(operation.path), [operation.method], (ctx) => {
    // The router also matches HEAD for every GET. A method that the document does not have is 403 (rule A3).
    if (ctx.method !== operation.method) throw unknownPath();
    ctx.state.route = operation.path;
    return run(ctx as unknown as Context, ctx['params']);
  });
}

const documentsPath = '/v1/openapi/{document}';
/** Maximum rate of document reads per address. A read needs no token, and a document has about 100 KB. */
const documentsRate = { perSecond: 20, burst: 100 };

/** Serves the contract documents without a token. Other names and methods are unknown paths. */
function serveDocuments(router: Router<RequestState>, proxies: BlockList, clock: Clock): void {
  const documents = publishedDocuments();
  const rate = new AddressRate('openapi', documentsRate, clock);
  router.register(routerPath(documentsPath), ['GET'], (ctx) => {
    const found = documents.get(ctx['params']['document'] ?? '');
    if (!found) throw unknownPath();
    ctx.state.route = documentsPath;
    rate.take(addressOf(ctx.req, proxies));
    sendDocument(ctx as unknown as Context, found);
  });
}

/** Paths with a documented 405 return it for every other method, before any other check (rule A3). */
function rejectOtherMethods(router: Router<RequestState>, operations: readonly ApiOperation[]): void {
  for (const { path, method } of operations.filter((o) => '405' in o.responses)) {
    const others = METHODS.filter((m) => m !== method);
    router.register(routerPath(path), others, (ctx) => {
      ctx.state.route = path;
      throw new GatewayError('method_not_allowed', `Only ${method} is allowed here.`, { Allow: method });
    });
  }
}

/**
 * Rejects the undocumented methods of a literal path that also matches a path with a parameter. The literal path takes
 * precedence for every method, so these requests must not reach the path with the parameter (rule A3).
 */
function rejectUndocumentedMethods(router: Router<RequestState>, operations: readonly ApiOperation[]): void {
  const paths = [...new Set(operations.map(({ path }) => path))];
  const matches = (template: string, path: string) =>
    template !== path && new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  for (const path of paths.filter((one) => paths.some((template) => matches(template, one)))) {
    const own = operations.filter((o) => o.path === path);
    if (own.some((o) => '405' in o.responses)) continue;
    const others = METHODS.filter((m) => !own.some(({ method }) => method === m));
    router.register(routerPath(path), others, () => {
      throw unknownPath();
    });
  }
}

function requireSameOperations(
  operations: readonly ApiOperation[],
  handlers: ReadonlyMap<string, unknown>,
): void {
  const documented = new Set(operations.map((o) => o.operationId));
  const missing = [...documented].filter((id) => !handlers.has(id));
  const extra = [...handlers.keys()].filter((id) => !documented.has(id));
  if (missing.length + extra.length > 0) {
    throw new Error(
      `the OpenAPI documents and the handlers differ: without handler [${missing}], without document [${extra}]`,
    );
  }
}
