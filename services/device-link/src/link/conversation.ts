import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Flow } from './flow.ts';

/** A message to the headset. */
export type Outgoing = Extract<
  NonNullable<MessageInitShape<typeof ConnectResponseSchema>['body']>,
  { case: string }
>;

/** What the parts of a session know of it. */
export interface Conversation {
  readonly deviceId: string;
  /** The session epoch. */
  readonly epoch: number;
  readonly flow: Flow;
  /** Sends nothing once the session has ended. */
  readonly send: (message: Outgoing) => void;
  readonly isAlive: () => boolean;
  /**
   * Ends the session as soon as the next welcome can carry the activation: what was accepted is started in
   * the next session. May be called several times.
   */
  readonly comeBackForWelcome: () => void;
  /** Logs the first failure and every tenth: a service that is away fails for all sessions. */
  readonly complain: (what: string, error: unknown, attempt: number) => void;
}
