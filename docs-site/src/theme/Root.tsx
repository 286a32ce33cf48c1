import type { ReactElement, ReactNode } from 'react';
import { CrashPage, ErrorBoundary } from './ErrorBoundary';

/** Outermost error boundary, around Gatsby's scroll handler too: no error leaves an empty page. */
export function Root({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <ErrorBoundary path="" fallback={CrashPage}>
      {children}
    </ErrorBoundary>
  );
}
