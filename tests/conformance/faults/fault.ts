import { clone, create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type Connection,
  GrpcConnection,
  type Stream,
  type StreamEnd,
  type StreamEvents,
} from '@headset-cloud/demo/headset/connection.ts';
import { Headset, type HeadsetOptions } from '@headset-cloud/demo/headset/headset.ts';
import { type Http, http as plainHttp } from '@headset-cloud/demo/headset/http.ts';
import type { RequestBody } from '@headset-cloud/demo/headset/session.ts';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type Operation,
  type Report,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

type Out = ConnectRequest['body'];
type In = ConnectResponse['body'];
type ResponseBody = NonNullable<MessageInitShape<typeof ConnectResponseSchema>['body']>;
type Value<B extends { case: unknown; value?: unknown }, K> = Extract<B, { case: K }>['value'];

/**
 * A violation of the protocol page, injected from outside of the reference client: changed options, and changed
 * messages on its streams. A hook gets a copy of the message and can change it. A hook that returns false drops the
 * message.
 */
export interface Fault {
  readonly options?: (options: HeadsetOptions) => Partial<HeadsetOptions>;
  readonly token?: (token: string) => string;
  /** Hook for messages to the cloud. */
  readonly out?: (body: Out, at: Tap) => unknown;
  /** Hook for messages to the headset. */
  readonly in?: (body: In, at: Tap) => unknown;
  readonly ended?: (end: StreamEnd) => StreamEnd;
  /** True: messages of earlier streams reach the headset on its newest stream. */
  readonly usesOldStreams?: true;
}

/** The headset and its stream, for a hook. */
export interface Tap {
  readonly headset: Headset;
  /** Sends a message on the newest stream. */
  send(body: RequestBody): void;
  /** Passes a message to the headset, as if from the cloud, after the current message is handled. */
  receive(body: ResponseBody): void;
}

/** Creates the reference client with faults. */
export function faultyHeadset(options: HeadsetOptions, faults: readonly Fault[]): Headset {
  let changed = options;
  for (const fault of faults) changed = { ...changed, ...fault.options?.(changed) };
  const { server, channelOptions, ca } = changed;
  const inner = changed.connection ?? new GrpcConnection(server, channelOptions, ca);
  let stream: Stream | undefined;
  let newest: StreamEvents | undefined;
  const tap = {
    send: (body: RequestBody) => stream?.send(create(ConnectRequestSchema, { body })),
    receive: (body: ResponseBody) =>
      void setImmediate(() => newest?.received(create(ConnectResponseSchema, { body }))),
  };
  const connection: Connection = {
    open: (token, events) => {
      newest = events;
      const opened = inner.open(
        faults.reduce((text, fault) => fault.token?.(text) ?? text, token),
        {
          received: (message) => {
            const copy = clone(ConnectResponseSchema, message);
            if (!faults.every((fault) => fault.in?.(copy.body, at) !== false)) return;
            const target = faults.some(({ usesOldStreams }) => usesOldStreams) ? newest : events;
            target?.received(copy);
          },
          ended: (end) => events.ended(faults.reduce((one, fault) => fault.ended?.(one) ?? one, end)),
        },
      );
      stream = opened;
      return {
        ...opened,
        send: (message, sent) => {
          const copy = clone(ConnectRequestSchema, message);
          if (faults.every((fault) => fault.out?.(copy.body, at) !== false)) opened.send(copy, sent);
        },
      };
    },
    renew: () => inner.renew(),
    close: () => inner.close(),
  };
  const headset = new Headset({ ...changed, connection });
  const at: Tap = { ...tap, headset };
  return headset;
}

/** Changes messages of one type to the cloud. */
export const sends = <K extends NonNullable<Out['case']>>(
  kind: K,
  change: (value: Value<Out, K>, at: Tap) => unknown,
): Fault => ({
  out: (body, at) => (body.case === kind ? change(body.value as Value<Out, K>, at) : undefined),
});

/** Changes messages of one type to the headset. */
export const receives = <K extends NonNullable<In['case']>>(
  kind: K,
  change: (value: Value<In, K>, at: Tap) => unknown,
): Fault => ({
  in: (body, at) => (body.case === kind ? change(body.value as Value<In, K>, at) : undefined),
});

/** Changes reports of one type. */
export const reports = <K extends NonNullable<Report['body']['case']>>(
  kind: K,
  change: (value: Value<Report['body'], K>, at: Tap, report: Report) => unknown,
): Fault =>
  sends('report', (report, at) =>
    report.body.case === kind ? change(report.body.value as Value<Report['body'], K>, at, report) : undefined,
  );

/** Changes the HTTP client. */
export const overHttp = (change: (http: Http) => Partial<Http>): Fault => ({
  options: ({ http = plainHttp }) => ({ http: { ...http, ...change(http) } }),
});

/** Returns the state of a held transaction. */
export const heldAs = ({ headset }: Tap, id: bigint) => headset.journal.held.get(Number(id))?.state;

/** Whether the headset remembers the end of a transaction that it no longer holds. */
export const isRemembered = ({ headset: { journal } }: Tap, id: bigint) =>
  journal.outcomes.has(Number(id)) && !journal.held.has(Number(id));

/** Returns the operation of a held transaction. */
export const operationOf = ({ headset }: Tap, id: bigint): Operation['kind'] =>
  headset.journal.held.get(Number(id))?.offer.operation?.kind ?? { case: undefined };

/** Reports an end of a transaction that the headset has not ended. */
export const reportEnd = ({ headset }: Tap, transactionId: bigint, success: boolean) =>
  headset.report({ case: 'result', value: { transactionId, success, message: success ? 'done' : 'failed' } });
