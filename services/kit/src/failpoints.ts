/**
 * Named points at which a test may stop the process (tests/faults). Off unless FAILPOINTS names
 * them; rejected when NODE_ENV is production. `FAILPOINTS=name[=N],…`: the process kills itself
 * (SIGKILL) when it reaches the point for the N-th time (default 1).
 */
export type Failpoints = (name: string) => void;

/** No failpoint fires. */
export const noFailpoints: Failpoints = () => {};

/** Parses FAILPOINTS; throws in production or when a name is unknown. */
export function createFailpoints(
  value: string | undefined,
  known: readonly string[],
  env: { NODE_ENV?: string | undefined },
  kill: (name: string) => void = () => process.kill(process.pid, 'SIGKILL'),
): Failpoints {
  if (!value) return noFailpoints;
  if (env.NODE_ENV === 'production') {
    throw new Error(
      'FAILPOINTS is set, but NODE_ENV is production: failpoints kill the process and are refused there. Unset FAILPOINTS.',
    );
  }
  const left = new Map<string, number>();
  for (const part of value.split(',')) {
    const [name = '', count = '1'] = part.split('=');
    if (!known.includes(name))
      throw new Error(
        `FAILPOINTS: no failpoint is named ${JSON.stringify(name)}. Known: ${known.join(', ')}`,
      );
    left.set(name, Number(count));
  }
  return (name) => {
    const n = left.get(name);
    if (n === undefined) return;
    left.set(name, n - 1);
    if (n === 1) kill(name);
  };
}
