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
 * Breaks rules of the protocol page from outside of the reference client: changes its options, and the messages
 * on its streams. Messages are copies that may be changed; a hook that returns false keeps a message back.
 */
export interface Fault {
  readonly options?: (options: HeadsetOptions) => Partial<HeadsetOptions>;
  readonly token?: (token: string) => string;
  /** A message to the cloud. */
  readonly out?: (body: Out, at: Tap) => unknown;
  /** A message to the headset. */
  readonly in?: (body: In, at: Tap) => unknown;
  readonly ended?: (end: StreamEnd) => StreamEnd;
  /** Messages of earlier streams reach the headset on its newest stream. */
  readonly usesOldStreams?: true;
}

/** The headset and its stream, for a hook. */
export interface Tap {
  readonly headset: Headset;
  /** Sends a message on the newest stream. */
  send(body: RequestBody): void;
  /** Gives the headset a message as if it came from the cloud, when the present one is handled. */
  receive(body: ResponseBody): void;
}

/** The reference client with faults. */
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

/** Changes messages of one kind to the cloud. */
export const sends = <K extends NonNullable<Out['case']>>(
  kind: K,
  change: (value: Value<Out, K>, at: Tap) => unknown,
): Fault => ({
  out: (body, at) => (body.case === kind ? change(body.value as Value<Out, K>, at) : undefined),
});

/** Changes messages of one kind to the headset. */
export const receives = <K extends NonNullable<In['case']>>(
  kind: K,
  change: (value: Value<In, K>, at: Tap) => unknown,
): Fault => ({
  in: (body, at) => (body.case === kind ? change(body.value as Value<In, K>, at) : undefined),
});

/** Changes reports with one kind of body. */
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

/** A held transaction's state. */
export const heldAs = ({ headset }: Tap, id: bigint) => headset.journal.held.get(Number(id))?.state;

/** True if the headset remembers the end of a transaction that it does not hold. */
export const isRemembered = ({ headset: { journal } }: Tap, id: bigint) =>
  journal.outcomes.has(Number(id)) && !journal.held.has(Number(id));

/** The operation of a held transaction. */
export const operationOf = ({ headset }: Tap, id: bigint): Operation['kind'] =>
  headset.journal.held.get(Number(id))?.offer.operation?.kind ?? { case: undefined };

/** Reports the end of a transaction that the headset has not ended. */
export const reportEnd = ({ headset }: Tap, transactionId: bigint, success: boolean) =>
  headset.report({ case: 'result', value: { transactionId, success, message: success ? 'done' : 'failed' } });
