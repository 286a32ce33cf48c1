import type { Component, Warning } from '@headset-cloud/runtime/lifecycle.ts';

/** Name of the warning in `ctl status` and in `headset_warnings`. */
const name = 'kafka_unavailable';

/**
 * Readiness by the event log (ADR 0056). The process is not ready until a check has found the log available once. A later
 * problem of the log is only a warning, because all processes lose Kafka at the same time, and calls are accepted without
 * it. `what`: the delayed work, for operators. `reasonOf`: why the log is unavailable; undefined: it is available.
 */
export function readinessByLog(
  what: string,
  reasonOf: () => string | undefined,
): Required<Pick<Component, 'notReady' | 'warnings'>> {
  let wasAvailable = false;
  const check = () => {
    const reason = reasonOf();
    wasAvailable ||= reason === undefined;
    return reason;
  };
  return {
    notReady() {
      const reason = check();
      return wasAvailable ? undefined : reason;
    },
    warnings(): Warning[] {
      const reason = check();
      return wasAvailable && reason !== undefined ? [{ name, message: `${what}: ${reason}` }] : [];
    },
  };
}
