import type { Gauge } from 'prom-client';

/**
 * Sets a gauge to a value that a store tells. One that does not answer leaves out its own value, not those of the
 * whole process; readiness reports it (rule C18).
 */
export async function setOrLeaveOut<Label extends string>(
  gauge: Gauge<Label>,
  labels: Partial<Record<Label, string>>,
  value: () => Promise<number>,
): Promise<void> {
  try {
    gauge.set(labels, await value());
  } catch {
    gauge.remove(labels);
  }
}

/** The same for a gauge whose labels the store tells too: a value that it no longer tells is not shown. */
export async function setAllOrLeaveOut<Label extends string>(
  gauge: Gauge<Label>,
  values: () => Promise<Iterable<readonly [labels: Record<Label, string>, value: number]>>,
): Promise<void> {
  try {
    const all = await values();
    gauge.reset();
    for (const [labels, value] of all) gauge.set(labels, value);
  } catch {
    gauge.reset();
  }
}

/** Asks a store once for all gauges of a scrape. */
export function sharedLook<T>(look: () => Promise<T>): () => Promise<T> {
  let looking: Promise<T> | undefined;
  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
}
