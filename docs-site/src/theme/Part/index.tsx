import { type ReactElement, type ReactNode, Suspense, useEffect } from 'react';

/**
 * A part of the page that React hydrates separately, in slices of a few milliseconds (selective hydration). A click
 * into a part hydrates it at once. `then` is called after the hydration. The props must not change before that:
 * otherwise React hydrates the part in one task.
 */
export function Part({
  children,
  then,
}: {
  readonly children: ReactNode;
  readonly then: () => void;
}): ReactElement {
  return (
    <Suspense fallback={null}>
      {children}
      <Done then={then} />
    </Suspense>
  );
}

function Done({ then }: { readonly then: () => void }): null {
  useEffect(then, [then]);
  return null;
}
