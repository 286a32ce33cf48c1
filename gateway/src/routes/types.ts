import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CallerSchema } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { Answer } from '../http/answer.ts';
import type { JsonText } from '../http/json.ts';

/** A request that passed every check of the gateway. */
export interface Call {
  /** Empty if the path has none. */
  readonly applicationId: string;
  /** Empty if the path has none. */
  readonly deviceId: string;
  /** 0 if the path has none. */
  readonly transactionId: number;
  /** Empty if the path has none. */
  readonly package: string;
  /** Empty if the path has none. */
  readonly webhookId: string;
  /** Empty if the path has none. */
  readonly recoveryId: string;
  readonly query: Readonly<Record<string, string | number>>;
  /** Present if the call has a body; its value matches the schema of the document. */
  readonly body: JsonText | undefined;
  /** The scopes of the caller's token. */
  readonly scopes: ReadonlySet<string>;
  /** Client, application and Idempotency-Key of the request, as services expect them. */
  readonly caller: MessageInitShape<typeof CallerSchema>;
}

/** Decodes a call, calls the service, and encodes its answer. Independent of HTTP. */
export type Handler = (call: Call) => Promise<Answer>;

/** Handlers by operationId. */
export type Handlers = Readonly<Record<string, Handler>>;
