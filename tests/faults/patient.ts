import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';

/** A read is tried so many times. */
const attempts = 8;
const pauseMs = 2000;
/** connect-node has no code of its own for some ways in which a connection ends. */
const lostConnection = /EPIPE|ECONNRESET|ECONNREFUSED|socket hang up/;
const passing: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Aborted];

/**
 * For reads at the end of a run: what fails because the machine is busy, or because the server has just closed the
 * connection, is asked again, so that hours of rounds are judged all the same.
 */
export const patient: Interceptor = (next) => async (request) => {
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
