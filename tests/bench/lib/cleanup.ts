/** Servers that must be closed when the bench is interrupted, because they would outlive it. */
const open = new Set<() => Promise<void>>();

/** Returns a function that runs `close` once; `closeAll` calls it, too. */
export function closedWithTheBench(close: () => Promise<void>): () => Promise<void> {
  const once = async () => {
    if (open.delete(once)) await close();
  };
  open.add(once);
  return once;
}

/** Closes everything that is still open. */
export async function closeAll(): Promise<void> {
  await Promise.allSettled([...open].map((close) => close()));
}
