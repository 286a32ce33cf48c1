import type { Gauge } from 'prom-client';

/**
 * Sets a gauge to a value from a store. If the store does not answer, removes only this value, so that the other
 * metrics of the process are still exported (rule C18). Readiness reports the unavailable store.
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

/** Sets a gauge whose labels and values are from a store. Removes values that the store no longer returns. */
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

/** Returns a function that shares one running `read` among concurrent callers, for example all gauges of a scrape. */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
