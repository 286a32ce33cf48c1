import type { Component, Warning } from '../lifecycle.ts';

/** Its name in `ctl status` and in `headset_warnings`. */
const name = 'kafka_unavailable';

/**
 * Readiness by the event log (ADR 0056): not ready until a look has found it well once; from then on what is wrong
 * with it is a warning, because every process loses Kafka at once, and calls are accepted without it. `what`: what
 * waits meanwhile, for operators; `reasonOf`: why the log cannot be used, undefined while it can.
 */
export function readinessByLog(
  what: string,
  reasonOf: () => string | undefined,
): Required<Pick<Component, 'notReady' | 'warnings'>> {
  let wasThere = false;
  const look = () => {
    const reason = reasonOf();
    wasThere ||= reason === undefined;
    return reason;
  };
  return {
    notReady() {
      const reason = look();
      return wasThere ? undefined : reason;
    },
    warnings(): Warning[] {
      const reason = look();
      return wasThere && reason !== undefined ? [{ name, message: `${what}: ${reason}` }] : [];
    },
  };
}
