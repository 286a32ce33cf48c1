import { existsSync, readFileSync } from 'node:fs';

/** One line of the integrator's callback log. */
export interface LoggedCallback {
  readonly webhookId: string;
  readonly verified: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

/** Reads the callbacks in an integrator's log. An incomplete last line is ignored. */
export function callbacksIn(file: string): LoggedCallback[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LoggedCallback);
}
