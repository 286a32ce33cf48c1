import { type ReactElement, type ReactNode, Suspense, useEffect } from 'react';

/**
 * A part of the page that React takes over by itself, in slices of a few milliseconds (selective hydration), so that
 * none keeps the reader waiting. Whoever clicks into one that waits gets it at once. `then` is called when it is done;
 * what it is given must not change before, or React does it in one go.
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
