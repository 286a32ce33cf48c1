import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { FlowControl } from '../transport/flow-control.ts';

/** A message to the headset. */
export type Outgoing = Extract<
  NonNullable<MessageInitShape<typeof ConnectResponseSchema>['body']>,
  { case: string }
>;

/** The part of the session that its offers, reports and URL requests use. */
export interface SessionContext {
  readonly deviceId: string;
  /** The session epoch. */
  readonly epoch: number;
  readonly flow: FlowControl;
  /** Sends a message; does nothing after the end of the session. */
  readonly send: (message: Outgoing) => void;
  readonly isAlive: () => boolean;
  /**
   * Ends the session as soon as the activation can be read for the next welcome. Transactions with a start grant start
   * in the next session. Repeated calls have no effect.
   */
  readonly reconnectForWelcome: () => void;
  /** Logs the first failure and every tenth, because an unavailable service fails for all sessions. */
  readonly logFailure: (what: string, error: unknown, attempt: number) => void;
}
