/** What must be ended when the bench is interrupted: servers that would outlive it. */
const open = new Set<() => Promise<void>>();

/** Answers `close`, which from now on is also called by `closeAll`; it runs once. */
export function closedWithTheBench(close: () => Promise<void>): () => Promise<void> {
  const once = async () => {
    if (open.delete(once)) await close();
  };
  open.add(once);
  return once;
}

/** Ends everything that is still open. */
export async function closeAll(): Promise<void> {
  await Promise.allSettled([...open].map((close) => close()));
}
