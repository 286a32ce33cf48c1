import type { LoggedLine } from './pod-logs.ts';

/** Messages of grpc-js and of Node.js. */
const brokenOff = /Received RST_STREAM with code|Write error: |"code":"(EPIPE|ECONNRESET|ERR_STREAM_\w+)"/;

/**
 * True for a server error of release 0.1.0 that is fixed since: its processes treat a call that breaks while the
 * called process stops, or a broken socket of the database, as internal errors, 500 without Retry-After. Either its
 * gateway logs this for the request, or one of its services does, and the request's gateway passed the error on.
 * `lines`: the gateway's line of the request, and errors that other pods logged at that time.
 */
export function isOfLastRelease(
  lines: readonly LoggedLine[],
  requestId: string,
  isLast: (image: string) => boolean,
): boolean {
  const lastSays = ({ image, line }: LoggedLine) => isLast(image) && brokenOff.test(JSON.stringify(line));
  const own = lines.filter(({ line }) => line['requestId'] === requestId);
  if (own.some(lastSays)) return true;
  // The log line of an error with a service's code contains no message about the call.
  const passedOn = own.length > 0 && own.every(({ line }) => line['internal'] === undefined);
  return passedOn && lines.some((one) => !own.includes(one) && lastSays(one));
}
