import type { AttemptResult } from '../domain/outcome.ts';
import type { DestinationAddress } from './destination-address.ts';

/** One HTTP request of which only the status is used. */
export interface CallbackRequest extends DestinationAddress {
  /** Signed with the authentication key, which is not sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends one HTTP request; never rejects. The reported answer contains no key, signature or credentials. */
export interface CallbackSender {
  send(request: CallbackRequest, signal: AbortSignal): Promise<AttemptResult>;
  close(): Promise<void>;
}
