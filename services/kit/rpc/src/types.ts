import type {
  DescMessage,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';

/** Context of a call, in addition to the request. */
export interface HandlerContext {
  /** Aborted when the caller gave up or its deadline passed. */
  readonly signal: AbortSignal;
}

export interface CallOptions {
  /** Deadline of the call; milliseconds from now. Default: the client's default deadline. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

type UnaryInput<M> = M extends DescMethodUnary<infer I, DescMessage> ? I : never;
type UnaryOutput<M> = M extends DescMethodUnary<DescMessage, infer O> ? O : never;

/** The unary RPCs of a service as functions that the service implements. */
export type Handlers<S extends DescService> = {
  [K in keyof S['method']]: (
    request: MessageShape<UnaryInput<S['method'][K]>>,
    context: HandlerContext,
  ) => Promise<MessageInitShape<UnaryOutput<S['method'][K]>>>;
};

/** The unary RPCs of a service as functions for its callers. They reject with DomainErrors. */
export type Client<S extends DescService> = {
  [K in keyof S['method']]: (
    request: MessageInitShape<UnaryInput<S['method'][K]>>,
    options?: CallOptions,
  ) => Promise<MessageShape<UnaryOutput<S['method'][K]>>>;
};

/** One implemented service; made by `bind`. */
export interface RpcBinding {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, (request: never, context: HandlerContext) => Promise<unknown>>>;
}

/** Combines handlers with the description of their service. */
export function bind<S extends DescService>(service: S, handlers: Handlers<S>): RpcBinding {
  return { service, handlers: handlers as unknown as RpcBinding['handlers'] };
}

/** Calls services: by gRPC over the network, or in the same process. */
export interface Channel {
  unary(
    method: DescMethodUnary,
    request: MessageInitShape<DescMessage>,
    options: CallOptions,
  ): Promise<MessageShape<DescMessage>>;
  close(): Promise<void>;
}

/** Creates a typed client. `deadlineMs` is the default deadline of its calls. */
export function createClient<S extends DescService>(
  service: S,
  channel: Channel,
  defaults: { deadlineMs: number } = { deadlineMs: 5000 },
): Client<S> {
  const client: Record<string, unknown> = {};
  for (const method of service.methods) {
    if (method.methodKind !== 'unary') continue;
    client[method.localName] = (request: MessageInitShape<DescMessage>, options: CallOptions = {}) =>
      channel.unary(method as DescMethodUnary, request, { ...defaults, ...options });
  }
  return client as Client<S>;
}
