import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';

/** Maximum number of attempts of a read. */
const attempts = 8;
const pauseMs = 2000;
/** Messages of lost connections for which connect-node has no error code. */
const lostConnection = /EPIPE|ECONNRESET|ECONNREFUSED|socket hang up/;
const passing: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Aborted];

/**
 * Repeats reads at the end of a run that fail because the machine is busy or the server has closed the connection. Such
 * a failure must not discard the result of hours of rounds.
 */
export const retryReads: Interceptor = (next) => async (request) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await next(request);
    } catch (error) {
      const { code, rawMessage } = ConnectError.from(error);
      const passes = passing.includes(code) || lostConnection.test(rawMessage);
      if (!passes || attempt === attempts) throw error;
    }
    await pause(pauseMs);
  }
};
